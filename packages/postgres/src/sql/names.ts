/** The names of the table and its functions. */
export interface Names {
  /** The table of the states, qualified and quoted. */
  readonly table: string
  /** The schema, quoted. */
  readonly schema: string
  /** The schema and the table, unquoted, to build other names. */
  readonly bare: readonly [schema: string, table: string]
  /** Returns the name of a function, qualified and quoted. */
  readonly fn: (name: string) => string
}

export function namesOf(schema: string, table: string): Names {
  const quoted = (...path: string[]): string => path.map((part) => `"${part}"`).join('.')
  return {
    table: quoted(schema, table),
    schema: quoted(schema),
    bare: [schema, table],
    fn: (name) => quoted(schema, `${table}_${name}`),
  }
}

/**
 * The expiry of a row: at least one minute after its state expires. The present expiry is kept while it is late enough.
 * A new expiry is later by four times the remaining life of the state, from ten minutes to a day. Most updates then do
 * not change the index on `expires` (HOT), at any rate.
 */
export const expirySql = (emptyAt: string, keep = 'NULL'): string =>
  `CASE WHEN ${keep} >= ${emptyAt} + 60000000 THEN ${keep}
        ELSE ${emptyAt} + 60000000 + least(greatest(4 * (${emptyAt} - now), 600000000), 86400000000) END`
