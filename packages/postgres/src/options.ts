import { QuotaError } from '@spillway/core'
import { checkOptions, formatValue } from '@spillway/core/internal'
import { type Names, namesOf } from './sql/names.ts'

/** The table of the states. */
export interface TableOptions {
  /**
   * The table, and the prefix of the functions' names.
   * @default `'spillway'`
   */
  readonly table?: string
  /**
   * The schema of the table and the functions.
   * @default `'public'`
   */
  readonly schema?: string
}

/**
 * The loss if the database server crashes: nothing (`'logged'`), the last fraction of a second (`'async'`: a check
 * returns before it is on disk), or every state (`'unlogged'`: the table is emptied, and is not replicated).
 */
export type Durability = 'logged' | 'async' | 'unlogged'

/** Options of `migrate` and `migrationSql`. */
export interface MigrationOptions extends TableOptions {
  /**
   * The loss if the database server crashes: nothing (`'logged'`), the last fraction of a second (`'async'`), or every
   * state (`'unlogged'`, which creates an unlogged table).
   * @default `'logged'`
   */
  readonly durability?: Durability
}

const DURABILITIES: readonly unknown[] = ['logged', 'async', 'unlogged']

/** Reads the table options; `what` names the function in errors. */
export function namesFrom(what: string, options: MigrationOptions, known: readonly string[]): Names {
  checkOptions(what, options, known)
  const { table = 'spillway', schema = 'public', durability = 'logged' } = options
  for (const [option, name] of [
    ['table', table],
    ['schema', schema],
  ] as const) {
    if (typeof name === 'string' && /^[a-z_][a-z0-9_]{0,39}$/i.test(name)) continue
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `${what} ${option} must be a name of letters, digits and underscores, 40 at most, such as "rate_limits"; got ${formatValue(name)}.`,
    )
  }
  if (DURABILITIES.includes(durability)) return namesOf(schema, table)
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} durability must be 'logged', 'async' or 'unlogged'; got ${formatValue(durability)}.`,
  )
}
