import { checkOptions, type Duration, micros, QuotaError, shown } from '@spillway/core'
import { type Names, namesOf } from './sql/names.ts'

/** Where the states are kept. */
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
 * What a crash of the database server loses: nothing (`'logged'`), the last fraction of a second (`'async'`: each take
 * answers before it is on the disk), or every state (`'unlogged'`: the table is emptied, and is not on replicas).
 */
export type Durability = 'logged' | 'async' | 'unlogged'

/** What `migration` takes: which table to make. */
export interface MigrationOptions extends TableOptions {
  /**
   * What a crash of the database server loses: nothing (`'logged'`), the last fraction of a second (`'async'`), or
   * every state (`'unlogged'`, which creates another kind of table).
   * @default `'logged'`
   */
  readonly durability?: Durability
}

const DURABILITIES: readonly unknown[] = ['logged', 'async', 'unlogged']

/** Reads where the states are kept; `what` names the function in errors. */
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
      `${what} ${option} must be a name of letters, digits and underscores, 40 at most, such as "rate_limits"; got ${shown(name)}.`,
    )
  }
  if (DURABILITIES.includes(durability)) return namesOf(schema, table)
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${what} durability must be 'logged', 'async' or 'unlogged'; got ${shown(durability)}.`,
  )
}

/** Reads a duration in milliseconds, as timers take it. */
export function millis(what: string, duration: Duration): number {
  const ms = Math.ceil(micros(duration, what) / 1000)
  if (ms < 2 ** 31) return ms
  throw new QuotaError('ERR_SPILLWAY_DURATION', `${what} must be shorter than 24 days; got ${shown(duration)}.`)
}
