import type { Micros } from '@spillway/core'
import type { RequestReader } from '@spillway/core/http'

/** A request in a log. */
export interface Entry {
  readonly at: Micros
  /** Undefined if the log has no address, or an invalid one. */
  readonly address: string | undefined
  /** The method in upper case. */
  readonly method: string
  /** The path and the query in the request line. */
  readonly target: string
  readonly status: number | undefined
  /** A logged header, by its name in lower case. */
  header(name: string): string | undefined
  claim(name: string): string | number | boolean | undefined
}

/** Parses a line; returns the problem as text if it is invalid, and undefined if it is a directive of the format. */
export type Parse = (line: string) => Entry | string | undefined

const pathOf = (target: string): string => {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

/** Reads logged requests for policies, like an adapter. */
export const entryReader: RequestReader<Entry> = {
  address: ({ address }) => address,
  peer: ({ address }) => address,
  method: ({ method }) => method,
  path: ({ target }) => pathOf(target),
  header: (entry, name) => entry.header(name),
  query: ({ target }, name) => {
    const query = target.indexOf('?')
    return query < 0 ? undefined : new URLSearchParams(target.slice(query + 1)).getAll(name)
  },
  identity: (entry) => entry,
  onClientClosed: () => () => {},
}
