import type { Micros } from '@spillway/core'
import type { RequestReader } from '@spillway/core/http'

/** A request in a log. */
export interface Entry {
  readonly at: Micros
  /** Undefined if the log has no address, or an invalid one. */
  readonly address: string | undefined
  /** The method in upper case. */
  readonly method: string
  /** The target of the request line: a path and a query, or a URL. */
  readonly target: string
  readonly status: number | undefined
  /** How long the request was in flight; undefined if the line does not say it. */
  readonly took?: Micros | undefined
  /** Whether `at` is when the request began; else, when it ended. */
  readonly isTimeOfStart?: boolean
  /** A logged header, by its name in lower case. */
  header(name: string): string | undefined
  claim(name: string): string | number | boolean | undefined
}

/** A request, and the number of its line. */
export interface Located {
  readonly entry: Entry
  readonly line: number
}

/** Parses a line; returns the problem as text if it is invalid, and undefined if it is a directive of the format. */
export type Parse = (line: string) => Entry | string | undefined

/** A line of any format: also the requests that are known by it, which may be of earlier lines, or none. */
export type Parsed = ReturnType<Parse> | readonly Located[]

export const isList = (parsed: Entry | readonly Located[]): parsed is readonly Located[] => Array.isArray(parsed)

/** Reads a line with its number. */
export type ReadLine = (line: string, number: number) => Parsed

const SLASH = 47
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i

/** The path of a target. Load balancers and proxies log it with the scheme, host and port, which no application gets. */
const pathOf = (target: string): string => {
  const query = target.indexOf('?')
  const whole = query < 0 ? target : target.slice(0, query)
  return whole.charCodeAt(0) === SLASH ? whole : pathIn(whole)
}

function pathIn(url: string): string {
  const path = url.replace(ORIGIN, '')
  return path === '' && url !== '' ? '/' : path
}

/** Reads logged requests for policies, like an adapter. */
export const entryReader: RequestReader<Entry> = {
  address: ({ address }) => address,
  peer: ({ address }) => address,
  method: ({ method }) => method,
  path: ({ target }) => pathOf(target),
  header: (entry, name) => entry.header(name),
  query: ({ target }) => target.slice(target.indexOf('?') + 1 || target.length),
  onClientClosed: () => () => {},
}
