import type { Micros } from '@spillway/core'
import type { RequestReader } from '@spillway/core/http'

/** A request as a log remembers it. */
export interface Entry {
  readonly at: Micros
  /** Undefined where the log does not tell, or what it tells is none. */
  readonly address: string | undefined
  /** In capitals. */
  readonly method: string
  /** Path and query, as the request line had them. */
  readonly target: string
  readonly status: number | undefined
  /** A header that the log has kept, by its name in lower case. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  claim(name: string): string | number | boolean | undefined
}

/** Makes a line into an entry, or says what is wrong with it. */
export type Parse = (line: string) => Entry | string

const pathOf = (target: string): string => {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

/** Reads logged requests for policies, as adapters read live ones. */
export const entryReader: RequestReader<Entry> = {
  address: ({ address }) => address,
  peer: ({ address }) => address,
  method: ({ method }) => method,
  path: ({ target }) => pathOf(target),
  header: (entry, name) => entry.header(name),
  query: ({ target }, name) => {
    const query = target.indexOf('?')
    return query < 0 ? undefined : (new URLSearchParams(target.slice(query + 1)).get(name) ?? undefined)
  },
  identity: (entry) => entry,
  onGone: () => () => {},
}
