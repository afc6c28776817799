import type { StepOptions } from '../algorithms/step-options.ts'
import { all, andThen, type MaybePromise } from '../common/maybe-promise.ts'
import { monotonicMs } from '../common/time.ts'
import type { Store } from '../stores/store.ts'
import { isSync } from '../stores/store-kinds.ts'
import { answerInTime, rollbackResult } from './correct.ts'
import type { CallDeadline, PolicyCheck, StoreConfig, StoreResult } from './policy.ts'
import { configOf } from './policy-of.ts'
import { takesFor } from './takes.ts'

/** The checks of one store and one hash slot: one atomic call. */
type Group = readonly PolicyCheck[]

type DeadlineFor = (group: Group) => CallDeadline | undefined
type DecideGroup = (group: Group, deadline: CallDeadline | undefined) => MaybePromise<StoreResult>

/** Calls all groups at once. */
export function decideAll(groups: readonly Group[], decide: DecideGroup): MaybePromise<readonly StoreResult[]> {
  const deadlineFor = deadlines()
  return all(groups.map((group) => decide(group, deadlineFor(group))))
}

/** Calls group after group until one denies: then those before it are rolled back, and those after it are peeked. */
export function decideInOrder(
  groups: readonly Group[],
  decide: DecideGroup,
  toPeek: (group: Group) => Group,
  stepOptions: StepOptions | undefined,
): MaybePromise<readonly StoreResult[]> {
  const deadlineFor = deadlines()
  const rollbackOne = (result: StoreResult): MaybePromise<StoreResult | undefined> =>
    rollbackResult(result, () => deadlineFor(result.checks))
  const peekLater = (group: Group): MaybePromise<StoreResult | undefined> =>
    answerInTime('take', toPeek(group), takesFor(toPeek(group), 'peek', stepOptions), () => deadlineFor(group))
  const decideFrom = (index: number, taken: readonly StoreResult[]): MaybePromise<readonly StoreResult[]> => {
    const group = groups[index]
    if (group === undefined) return taken
    const proceed = (result: StoreResult): MaybePromise<readonly StoreResult[]> => {
      if (result.decisions.every(({ allowed }) => allowed)) return decideFrom(index + 1, [...taken, result])
      const others = [...taken.map(rollbackOne), ...groups.slice(index + 1).map(peekLater)]
      return andThen(all(others), (results) => [result, ...results.filter((each) => each !== undefined)])
    }
    const fail = (error: unknown): never => {
      // The caller does not wait for the refunds: its deadline may have passed.
      for (const result of taken) void rollbackOne(result)
      throw error
    }
    const result = decide(group, deadlineFor(group))
    return result instanceof Promise ? result.then(proceed, fail) : proceed(result)
  }
  return decideFrom(0, [])
}

/** The deadline of each group, from the first call to a remote store on; undefined for in-memory stores, which come first. */
function deadlines(): DeadlineFor {
  const known: CallDeadline[] = []
  let firstMs: number | undefined
  return (group) => {
    const { calls } = configOf(group)
    if (calls.deadlineFrom === undefined) return undefined
    firstMs ??= monotonicMs()
    // What has extended the deadline of one call, as the event loop was blocked, extends those of the calls after it.
    const startMs = Math.max(firstMs, ...known.map(({ atMs, spanMs }) => atMs - spanMs))
    const deadline = calls.deadlineFrom(group, startMs)
    known.push(deadline)
    return deadline
  }
}

/** Whether checks of policies with these stores are one atomic call, whatever their keys are. */
export const isOneCall = ([first, ...others]: readonly StoreConfig[]): boolean =>
  first?.store.slotOf === undefined && others.every(({ store }) => store === first?.store)

/**
 * Groups checks by store and hash slot: each group is one atomic call. In-memory stores come first: their denial saves the
 * call to a remote store, and their refund needs no network.
 */
export function groupByStore(checks: readonly PolicyCheck[]): readonly Group[] {
  const groups = new Map<Store, Map<string | number | undefined, PolicyCheck[]>>()
  for (const check of checks) {
    const { store } = check.policy.storeConfig
    const ofStore = groups.get(store) ?? new Map<string | number | undefined, PolicyCheck[]>()
    groups.set(store, ofStore)
    const slot = store.slotOf?.({ policy: check.policy.name, key: check.key })
    const known = ofStore.get(slot)
    if (known === undefined) ofStore.set(slot, [check])
    else known.push(check)
  }
  return [...groups.entries()]
    .sort(([a], [b]) => Number(isSync(b)) - Number(isSync(a)))
    .flatMap(([, ofStore]) => [...ofStore.values()])
}
