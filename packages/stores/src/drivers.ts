import type { Duration, Micros } from '@spillway/core'
import { checkFunctions, invalidOption } from '@spillway/core/internal'

/** A value, or a promise of it. A driver of a synchronous client returns values. */
export type MaybePromise<T> = T | Promise<T>

/** The row of a state. */
export interface StateRow {
  /** The name: printable ASCII, at most `longestName` characters, compared by its bytes. */
  readonly name: string
  /** The state as text: printable ASCII, some 20 characters, of a log or of slots up to 20,000. */
  readonly state: string
}

/** A row to be written. */
export interface ExpiringRow extends StateRow {
  /** When the row may be deleted, in microseconds since 1970 by the clock of the driver. */
  readonly expiresAt: Micros
}

/** A try of a call. */
export interface Attempt {
  /** Its number: 0, or more if earlier ones have failed by `isRetryable`. */
  readonly number: number
  /** When nothing is sent any more, in milliseconds of `performance.now()`: how long to wait for connections and locks. */
  readonly sendByMs: number
}

/** What the two bases need to know of a database. */
export interface Driver {
  /** The name of the database in errors, such as `'MySQL'`. */
  readonly kind: string
  /** The client or pool: limiters of one name on one client and `table` share their counts. */
  readonly client: object
  /**
   * The table or prefix of the states.
   * @default `''`
   */
  readonly table?: string
  /**
   * The most characters of a name, 89 or more. Longer policies and keys are stored as their SHA-256.
   * @default `512`
   */
  readonly longestName?: number
  /** Deletes rows, of those that exist, and returns how many there were. */
  delete(names: readonly string[], attempt: Attempt): MaybePromise<number>
  /** Returns the first rows by byte order of their names, from `from` and before `to`. Absent if the database cannot list. */
  list?(from: string, to: string, most: number): MaybePromise<readonly StateRow[]>
  /** Reports whether an error is over if the call is made again: a deadlock, or a transaction that lost a race. */
  isRetryable?(error: unknown): boolean
  /** Returns what to do about an error, as a sentence for its message; undefined if nothing is known. */
  hintOf?(error: unknown): string | undefined
}

/** A transaction that is open. */
export interface Transaction {
  /**
   * Locks the rows of these names, in this order, until the transaction ends, and returns those that exist, in any order. If the
   * database can lock a name without a row, a denial writes nothing.
   */
  lock(names: readonly string[]): MaybePromise<readonly StateRow[]>
  /** Returns the time, in whole microseconds since 1970: read after `lock`, so that a later transaction has a later time. */
  now(): MaybePromise<Micros>
  /** Inserts or replaces rows. */
  write(rows: readonly ExpiringRow[]): MaybePromise<void>
}

/** A database with transactions. */
export interface TransactionalDriver extends Driver {
  /** Begins a transaction, runs `run`, then commits. If `run` or the commit fails, it rolls back and throws the error. */
  transaction(run: (transaction: Transaction) => MaybePromise<void>, attempt: Attempt): MaybePromise<void>
}

/** The state of a name, and which version of it that is. */
export interface VersionedState<V> {
  /** The state as text, as it was written. */
  readonly state: string
  /** What changes with each write: a revision, a counter, or a token of the database. */
  readonly version: V
}

/** A database that writes a value only if no other write came between. */
export interface CompareAndSetDriver<V> extends Driver {
  /** Returns the time, in whole microseconds since 1970. It is called after `get`. */
  now(): MaybePromise<Micros>
  /** Returns the state of a name; undefined if there is none. It must not be older than the last write. */
  get(name: string): MaybePromise<VersionedState<V> | undefined>
  /**
   * Writes a state if its version is still this one or, of undefined, if the name has none. Returns whether it has written.
   * `expiresAt` is when it may be deleted, in microseconds since 1970.
   */
  compareAndSet(name: string, state: string, version: V | undefined, expiresAt: Micros): MaybePromise<boolean>
}

/** Options of the stores. */
export interface StoreBaseOptions {
  /**
   * The maximum duration of a check, including waits and retries. A shorter `deadline` of the limiter takes precedence.
   * @default `'1s'`
   */
  readonly deadline?: Duration
  /**
   * A secret of 16 characters or more by which keys are hashed (HMAC-SHA-256), so that the database holds no address or
   * user id. All processes need the same secret; a new secret starts with new states.
   * @default keys are stored as they are
   */
  readonly hashKeys?: string
}

/** Throws a QuotaError if a driver lacks what its base needs. */
export function checkDriver(what: string, driver: Driver, methods: readonly string[]): void {
  if (typeof driver !== 'object' || driver === null) throw invalidOption(`${what} needs a driver, an object`, driver)
  checkFunctions(driver, [...methods, 'delete'], true)
  checkFunctions(driver, ['list', 'isRetryable', 'hintOf'])
  const { kind, client, longestName = 512 } = driver
  if (typeof kind !== 'string' || kind === '')
    throw invalidOption(`${what} needs the kind of its database, a name for errors such as 'MySQL'`, kind)
  if ((typeof client !== 'object' && typeof client !== 'function') || client === null)
    throw invalidOption(`${what} needs the client of its database: limiters on one client are compared`, client)
  if (!(Number.isSafeInteger(longestName) && longestName >= 89))
    throw invalidOption(`${what} longestName must be a whole number, 89 or more: a hash is 44 characters`, longestName)
}
