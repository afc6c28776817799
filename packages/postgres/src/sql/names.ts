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
