import { QuotaError, type Store, type SyncStore } from '@spillway/core'
import { checkBoolean, checkOptions, formatValue, hasMethod } from '@spillway/core/internal'
import {
  type Attempt,
  type ExpiringRow,
  type StoreBaseOptions,
  syncTransactionalStore,
  type Transaction,
  type TransactionalDriver,
  transactionalStore,
} from '@spillway/stores'
import { hintOf, isBusy, isMissing, preparedIn, rowFrom, type SqliteDatabase, type Statements } from './client.ts'

/** Options of `sqliteStore`. */
export interface SqliteStoreOptions extends StoreBaseOptions {
  /**
   * The table, which the store creates.
   * @default `'spillway'`
   */
  readonly table?: string
  /**
   * Whether the store answers without a promise, so that `consumeSync` works. Its failures throw: it has no failure mode, and waits
   * for other processes block the event loop, for `deadline` at most.
   * @default `false`
   */
  readonly sync?: boolean
}

/**
 * Returns a store in a file of SQLite, exact for all processes on it. The calls of an event-loop tick are one transaction. A denial
 * takes no write lock. Give it a connection of its own: `new DatabaseSync('limits.db')` of `node:sqlite`, or `new Database('limits.db')`
 * of better-sqlite3 or libsql.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the database or an option is invalid
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions & { readonly sync: true }): SyncStore
/** Returns a remote store, which answers with a promise, and has a deadline and a failure mode. */
export function sqliteStore(database: SqliteDatabase, options?: SqliteStoreOptions): Store
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions = {}): Store {
  checkOptions('sqliteStore', options, ['table', 'sync', 'deadline', 'hashKeys'])
  const { table = 'spillway', sync, ...base } = options
  if (!hasMethod(database, 'prepare') || !hasMethod(database, 'exec')) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `sqliteStore needs an open database, such as new DatabaseSync('limits.db') of node:sqlite; got ${formatValue(database)}.`,
    )
  }
  if (typeof table !== 'string' || !/^[a-z_][a-z0-9_]{0,39}$/i.test(table)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `sqliteStore table must be a name of letters, digits and underscores, 40 at most, such as "rate_limits"; got ${formatValue(table)}.`,
    )
  }
  const driver = driverOf(database, table)
  return checkBoolean('sync', sync) ? syncTransactionalStore(driver, base) : transactionalStore(driver, base)
}

function driverOf(database: SqliteDatabase, table: string): TransactionalDriver {
  let prepared: Statements | undefined
  const statements = (): Statements => {
    prepared ??= preparedIn(database, table)
    return prepared
  }
  const sweep = sweeping(statements)
  const transaction: Transaction = {
    lock: (names) => names.flatMap((name) => rowFrom(statements().get.get(name))),
    now: () => Date.now() * 1000,
    write(rows) {
      // Takes the write lock. A prepared statement of libsql that fails stays open, with what it has read.
      database.exec(`DELETE FROM "${table}" WHERE 0`)
      for (const { name, state, expiresAt } of rows) statements().put.run(name, state, expiresAt)
      sweep(rows)
    },
  }
  /**
   * The first try takes the write lock only if it writes: a denial waits for no other process. If another has written meanwhile, that
   * fails; the next try takes the lock first.
   */
  const within = <T>(work: () => T, { number }: Attempt): T => {
    statements()
    database.exec(number === 0 ? 'BEGIN' : 'BEGIN IMMEDIATE')
    try {
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (isMissing(error)) prepared = undefined
      rollBack(database)
      throw error
    }
  }
  return {
    kind: 'SQLite',
    client: database,
    table,
    isRetryable: (error) => isBusy(error) || isMissing(error),
    hintOf,
    transaction: (run, attempt) => within(() => run(transaction), attempt),
    delete: (names, attempt) =>
      within(() => names.reduce((count, name) => count + Number(statements().remove.run(name).changes), 0), attempt),
    list: (from, to, most) => statements().range.all(from, to, most).flatMap(rowFrom),
  }
}

/** SQLite itself has rolled back after some errors, such as of a full disk. */
function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // No transaction is open.
  }
}

/** Rows that are looked at for each that is written. */
const SWEPT_PER_ROW = 2

/**
 * Deletes expired rows: a few for each row that is written, in the order of their names, so that the file stays as large as its live
 * states, without an index and without a timer.
 */
function sweeping(statements: () => Statements): (rows: readonly ExpiringRow[]) => void {
  let after = ''
  return (rows) => {
    const most = SWEPT_PER_ROW * rows.length
    const found = statements().next.all(after, most) as readonly { readonly name: string; readonly expires: number }[]
    const now = Date.now() * 1000
    for (const { name, expires } of found) if (Number(expires) <= now) statements().remove.run(name)
    after = found.length < most ? '' : (found.at(-1)?.name ?? '')
  }
}
