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
  /**
   * Returns a call of a function with parameters of these types, which are those of its arguments: those of another role's
   * function of the same name could fit unknown types better.
   */
  readonly call: (name: string, types: string) => string
}

export function namesOf(schema: string, table: string): Names {
  const quoted = (...path: string[]): string => path.map((part) => `"${part}"`).join('.')
  const fn = (name: string): string => quoted(schema, `${table}_${name}`)
  return {
    table: quoted(schema, table),
    schema: quoted(schema),
    bare: [schema, table],
    fn,
    call: (name, types) =>
      `${fn(name)}(${types
        .split(' ')
        .map((type, i) => `$${i + 1}::pg_catalog.${type}`)
        .join(', ')})`,
  }
}

/**
 * The functions that callers name find other functions, operators and types as the server ships them, whatever the caller's
 * `search_path` is: anyone who may create in a schema of it could overload what is polymorphic, variadic or needs a cast, such
 * as `concat_ws` or `numeric * int4`. Their calls of each other, and the store's, have the exact types of the arguments: those
 * cannot be overloaded.
 */
export const SAFE_PATH = 'SET search_path = pg_catalog, pg_temp'

/**
 * The same for helpers, which are inlined, as a function with a `SET` is not. They use whole numbers, whose operators have the
 * exact types: only functions and operators of arrays are to be qualified. An operator written so binds as `||` does.
 */
export const qualified = (sql: string): string =>
  sql.replaceAll('||', 'OPERATOR(pg_catalog.||)').replace(/\b(cardinality|unnest|array_to_string)\(/g, 'pg_catalog.$1(')

/**
 * The expiry of a row: at least one minute after its state expires. The present expiry is kept while it is late enough.
 * A new expiry is later by four times the remaining life of the state, from ten minutes to a day. Most updates then do
 * not change the index on `expires` (HOT), at any rate.
 */
export const expirySql = (emptyAt: string, keep = 'NULL'): string =>
  `CASE WHEN ${keep} >= ${emptyAt} + 60000000 THEN ${keep}
        ELSE ${emptyAt} + 60000000 + least(greatest(4 * (${emptyAt} - now), 600000000), 86400000000) END`
