import { type CallDeadline, unlessExpired } from './deadline.ts'
import { all, andThen, type MaybePromise } from './maybe-promise.ts'
import type { PolicyCheck } from './policy.ts'
import { isSync } from './store.ts'
import { deadlineOf, rollbackResult, type StoreResult } from './store-result.ts'

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** The deadline of each part of what begins when a remote store is first asked; in-memory stores come first, and need none. */
export type Deadlines = (group: readonly PolicyCheck[]) => CallDeadline | undefined

export function deadlines(): Deadlines {
  let startMs: number | undefined
  return (group) => {
    if (isSync((group[0] as PolicyCheck).policy.storeConfig.store)) return undefined
    startMs ??= performance.now()
    return deadlineOf(group, startMs)
  }
}

type Answer = (group: readonly PolicyCheck[]) => MaybePromise<StoreResult>

/** Asks part after part, until one denies: those before it are given back, and those after it say what they would. */
export function acquireInOrder(
  groups: readonly (readonly PolicyCheck[])[],
  answer: Answer,
  peek: Answer,
  deadlineFor: Deadlines,
): MaybePromise<readonly StoreResult[]> {
  const undo = (result: StoreResult): MaybePromise<StoreResult | undefined> =>
    rollbackResult(result, deadlineFor(result.checks))
  const look = (group: readonly PolicyCheck[]): MaybePromise<StoreResult | undefined> => {
    const seen = peek(group)
    return seen instanceof Promise ? unlessExpired(seen, deadlineFor(group) as CallDeadline) : seen
  }
  const from = (at: number, taken: readonly StoreResult[]): MaybePromise<readonly StoreResult[]> => {
    const checks = groups[at]
    if (checks === undefined) return taken
    const goOn = (result: StoreResult): MaybePromise<readonly StoreResult[]> => {
      if (result.decisions.every(({ allowed }) => allowed)) return from(at + 1, [...taken, result])
      const others = [...taken.map(undo), ...groups.slice(at + 1).map(look)]
      return andThen(all(others), (told) => [result, ...told.filter((each) => each !== undefined)])
    }
    const fail = (error: unknown): never => {
      // The caller does not wait for the refunds: its deadline may have passed.
      for (const result of taken) void undo(result)
      throw error
    }
    const result = answer(checks)
    return result instanceof Promise ? result.then(goOn, fail) : goOn(result)
  }
  return from(0, [])
}
