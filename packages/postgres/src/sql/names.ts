/** What the statements name: a table, and the functions that go with it. */
export interface Names {
  /** The table of the states, qualified and quoted. */
  readonly table: string
  /** The schema, quoted. */
  readonly schema: string
  /** The schema and the table as they are, to make other names of. */
  readonly bare: readonly [schema: string, table: string]
  /** A function of ours, qualified and quoted. */
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
 * When a row may be swept: a minute after its state is the same as none, at the least. The moment that stands in the row is
 * kept as long as it is late enough, and a new one is set ahead by four times what the state still lasts, ten minutes to a
 * day: so that most updates leave the index on `expires` alone (HOT), whatever the rate.
 */
export const expirySql = (spentAt: string, keep = 'NULL'): string =>
  `CASE WHEN ${keep} >= ${spentAt} + 60000000 THEN ${keep}
        ELSE ${spentAt} + 60000000 + least(greatest(4 * (${spentAt} - now), 600000000), 86400000000) END`
