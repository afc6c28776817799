import { all, andThen, type MaybePromise } from '../common/maybe-promise.ts'
import { monotonicMs } from '../common/time.ts'
import { configOf, type PolicyCheck } from '../policies/policy.ts'
import { type CallDeadline, unlessExpired } from '../stores/deadline.ts'
import { isSync } from '../stores/store.ts'
import { deadlineOf, rollbackResult, type StoreResult } from './store-result.ts'

/** The deadline of each group, from the first call to a remote store on; undefined for in-memory stores, which come first. */
export type Deadlines = (group: readonly PolicyCheck[]) => CallDeadline | undefined

export function deadlines(): Deadlines {
  const known: CallDeadline[] = []
  let firstMs: number | undefined
  return (group) => {
    if (isSync(configOf(group).store)) return undefined
    firstMs ??= monotonicMs()
    // What has extended the deadline of one call, as the event loop was blocked, extends those of the calls after it.
    const startMs = Math.max(firstMs, ...known.map(({ atMs, spanMs }) => atMs - spanMs))
    const deadline = deadlineOf(group, startMs)
    known.push(deadline)
    return deadline
  }
}

type Answer = (group: readonly PolicyCheck[]) => MaybePromise<StoreResult>

/** Calls group after group until one denies: then those before it are rolled back, and those after it are peeked. */
export function acquireInOrder(
  groups: readonly (readonly PolicyCheck[])[],
  answer: Answer,
  peek: Answer,
  deadlineFor: Deadlines,
): MaybePromise<readonly StoreResult[]> {
  const rollbackOne = (result: StoreResult): MaybePromise<StoreResult | undefined> =>
    rollbackResult(result, deadlineFor(result.checks))
  const peekLater = (group: readonly PolicyCheck[]): MaybePromise<StoreResult | undefined> => {
    const seen = peek(group)
    return seen instanceof Promise ? unlessExpired(seen, deadlineFor(group) as CallDeadline) : seen
  }
  const acquireFrom = (index: number, taken: readonly StoreResult[]): MaybePromise<readonly StoreResult[]> => {
    const checks = groups[index]
    if (checks === undefined) return taken
    const proceed = (result: StoreResult): MaybePromise<readonly StoreResult[]> => {
      if (result.decisions.every(({ allowed }) => allowed)) return acquireFrom(index + 1, [...taken, result])
      const others = [...taken.map(rollbackOne), ...groups.slice(index + 1).map(peekLater)]
      return andThen(all(others), (results) => [result, ...results.filter((each) => each !== undefined)])
    }
    const fail = (error: unknown): never => {
      // The caller does not wait for the refunds: its deadline may have passed.
      for (const result of taken) void rollbackOne(result)
      throw error
    }
    const result = answer(checks)
    return result instanceof Promise ? result.then(proceed, fail) : proceed(result)
  }
  return acquireFrom(0, [])
}
