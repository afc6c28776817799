import type { Micros, Store, SyncStore, Taken } from '@spillway/core'
import { andThen, maybePromise, withRemoteDefaults } from '@spillway/core/internal'
import { type Ask, attemptIn, baseOf, checkNow, listing, namesOfKeys, rowsOf, workOn } from './base.ts'
import { type Answers, answersOf, type Call, namesIn, runCalls, unexpired } from './calls.ts'
import { coalescing, type Send, takenOf } from './coalesce.ts'
import type { Attempt, MaybePromise, StoreBaseOptions, Transaction, TransactionalDriver } from './drivers.ts'
import { retrying } from './retry.ts'
import { nowMs } from './timers.ts'
import { answerBy, untilIn } from './until.ts'

const METHODS = ['transaction']

/**
 * Returns a remote store over a database with transactions. The calls of an event-loop tick are one transaction, and each key
 * is in one transaction of this process at a time. A denial writes nothing, if the driver can lock a name without a row.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the driver or an option is invalid
 */
export function transactionalStore(driver: TransactionalDriver, options: StoreBaseOptions = {}): Store {
  const base = baseOf('transactionalStore', driver, METHODS, options)
  const { timeoutMs, failure, callOf } = base
  const pauseOf = (error: unknown): number | undefined => (driver.isRetryable?.(error) ? 0 : undefined)
  const send: Send = (calls, until) =>
    answerBy(
      until,
      retrying(until, async (left, number) => inTransaction(driver, calls, attemptIn(left, number)), pauseOf),
    )
  const ask: Ask = (work) => {
    const until = untilIn(timeoutMs)
    const answer = retrying(until, async (left, number) => work(attemptIn(left, number)), pauseOf)
    return answerBy(until, answer).catch((error: unknown) => Promise.reject(failure(error, timeoutMs)))
  }
  const take = coalescing({ send, timeoutMs, failure })
  return withRemoteDefaults<Store>({
    ...base.traits,
    take: (ops, at, deadline) => (ops.length === 0 ? Promise.resolve([]) : take(callOf(ops, at, deadline))),
    takeEach: async (batches, at, deadline) => {
      const calls = batches.map((ops) => callOf(ops, at, deadline))
      const answers = await send(calls, untilIn(timeoutMs, deadline)).catch((error: unknown) =>
        Promise.reject(failure(error, timeoutMs)),
      )
      return answers.map((_, i) => takenOf(answers, i))
    },
    delete: (keys) => ask((attempt) => driver.delete(namesOfKeys(base, keys), attempt)),
    ...listing(driver, base, ask, () => ask((attempt) => timeIn(driver, attempt))),
  })
}

/**
 * Returns a synchronous store over a database whose client is: `consumeSync` works, each call is a transaction, and a failure
 * throws. Waits for locks and retries block the event loop, until `deadline`.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the driver or an option is invalid
 */
export function syncTransactionalStore(driver: TransactionalDriver, options: StoreBaseOptions = {}): SyncStore {
  const base = baseOf('syncTransactionalStore', driver, METHODS, options)
  const { timeoutMs, failure, callOf } = base
  const now = <T>(work: (attempt: Attempt) => MaybePromise<T>): T => {
    const until = untilIn(timeoutMs)
    for (let number = 0; ; number++) {
      try {
        return valueIn(work(attemptIn(until, number)))
      } catch (error) {
        if (!driver.isRetryable?.(error) || nowMs() >= until.sendByMs) throw failure(error, timeoutMs)
      }
    }
  }
  const takeSync = (ops: Call['ops'], at?: Micros): readonly Taken[] =>
    ops.length === 0
      ? []
      : takenOf(
          now((attempt) => inTransaction(driver, [callOf(ops, at)], attempt)),
          0,
        )
  const deleteSync: SyncStore['deleteSync'] = (keys) =>
    now((attempt) => driver.delete(namesOfKeys(base, keys), attempt))
  const ask: Ask = async (work) => now(work)
  return {
    ...base.traits,
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
    ...listing(driver, base, ask, async () => now((attempt) => timeIn(driver, attempt))),
  }
}

function valueIn<T>(value: MaybePromise<T>): T {
  if (!(value instanceof Promise)) return value
  value.catch(() => {})
  throw new TypeError('the driver of a synchronous store must return no promise: use transactionalStore')
}

/** Runs calls in a transaction, and returns what they have taken. */
const inTransaction = (driver: TransactionalDriver, calls: readonly Call[], attempt: Attempt): MaybePromise<Answers> =>
  within(driver, attempt, (transaction) => {
    const names = namesIn(calls)
    return andThen(maybePromise(transaction.lock(names)), (rows) => {
      const work = workOn(rows, names)
      return andThen(maybePromise(transaction.now()), (now) => {
        // The wait for the locks may have been long.
        const sent = unexpired(calls)
        const answers = answersOf(calls, sent, runCalls(sent, work, checkNow(now)))
        const changed = rowsOf(work)
        return changed.length === 0 ? answers : andThen(maybePromise(transaction.write(changed)), () => answers)
      })
    })
  })

const timeIn = (driver: TransactionalDriver, attempt: Attempt): MaybePromise<Micros> =>
  within(driver, attempt, (transaction) => andThen(maybePromise(transaction.now()), checkNow))

/** The result of what runs in a transaction, once that has been committed. */
function within<T extends object | number>(
  driver: TransactionalDriver,
  attempt: Attempt,
  work: (transaction: Transaction) => MaybePromise<T>,
): MaybePromise<T> {
  let result: T | undefined
  const run = (transaction: Transaction): MaybePromise<void> =>
    andThen(work(transaction), (value) => {
      result = value
    })
  return andThen(maybePromise(driver.transaction(run, attempt)), () => {
    if (result !== undefined) return result
    throw new TypeError('transaction has settled before what it runs: return its promise, or await run(transaction)')
  })
}
