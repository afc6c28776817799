import { decide, runKernel, stepFor, takenOf } from '../algorithms/algorithm.ts'
import type { Decision } from '../algorithms/decision.ts'
import { blockListOf, shownPolicies } from '../algorithms/penalty/block-list.ts'
import { blockedMsOf } from '../algorithms/penalty/decide-penalty.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { checkKey } from '../algorithms/verbs.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import type { Policy, PolicyCheck } from '../policies/policy.ts'
import { answerTo } from '../policies/takes.ts'

/** What a store keeps about a key for one policy, as plain data. */
export interface Inspection {
  /** The name of the policy. */
  readonly policy: string
  /** The numbers of the policy. */
  readonly quota: Quota
  /**
   * Whether the key differs from a new one: false if nothing is kept about it, because it has never been used, or because all
   * of its units have refilled.
   */
  readonly kept: boolean
  /** The state that the store reported, in microseconds on the store's clock. */
  readonly state: Taken
  /** The decision about one unit, which was not consumed. */
  readonly decision: Decision
  /** Milliseconds until the end of the key's block, by a `penalty` or by hand; 0 if it is not blocked. */
  readonly blockedMs: number
  /**
   * In how many milliseconds 1 unit, half and all of the quota are available if nothing more is consumed: 0 if they are. An
   * overdraft does not count. Slots in use are not listed: it is not known when they are released.
   */
  readonly available: readonly { readonly units: number; readonly afterMs: number }[]
}

/** Reads what a store keeps about a key. Consumes and writes nothing. Rejects with a `StoreError` if the store fails. */
export async function inspectKey(policies: readonly Policy[], key: string): Promise<readonly Inspection[]> {
  checkKey(key)
  const blockList = blockListOf(policies)
  const [listed, ...inspections] = await Promise.all([
    blockList && peekAt(blockList, key),
    ...shownPolicies(policies).map((policy) => inspectPolicy(policy, key)),
  ])
  return listed === undefined ? inspections : inspections.map((each) => withBlock(each, listed.retryAfterMs))
}

/** The decision about one unit of a key, which is not consumed. Rejects with a `StoreError` if the store fails. */
export function peekAt(policy: Policy, key: string): MaybePromise<Decision> {
  const checks: readonly PolicyCheck[] = [{ policy, key, cost: 1 }]
  return andThen(answerTo(checks, 'peek'), ({ decisions }) => decisions[0] as Decision)
}

/** The inspection of a key that its block list denies for some time more. */
const withBlock = ({ available, ...inspection }: Inspection, listedMs: number): Inspection => ({
  ...inspection,
  blockedMs: Math.max(inspection.blockedMs, listedMs),
  available: available.map(({ units, afterMs }) => ({ units, afterMs: Math.max(afterMs, listedMs) })),
})

async function inspectPolicy(policy: Policy, key: string): Promise<Inspection> {
  const { name, quota, storeConfig } = policy
  const sizes = [...new Set([1, Math.ceil(quota.limit / 2), quota.limit])]
  const steps = [stepFor(quota, 'peek', 1), ...sizes.map((size) => stepFor(quota, 'peek', size, { prepaid: true }))]
  const batches = steps.map((step) => [{ policy: name, key, step }])
  const taken = (await storeConfig.calls.takeEach([{ policy, key, cost: 1 }], batches)).flat()
  const decisionAt = (i: number, cost: number): Decision =>
    decide(name, quota, cost, steps[i] as Step, taken[i] as Taken)
  return {
    policy: name,
    quota,
    blockedMs: blockedMsOf(taken[0] as Taken),
    kept: !isNew(steps[0] as Step, taken[0] as Taken),
    state: taken[0] as Taken,
    decision: decisionAt(0, 1),
    available: sizes.flatMap((units, i) => {
      const { allowed, retryAfterMs: afterMs } = decisionAt(i + 1, units)
      return allowed || afterMs > 0 ? [{ units, afterMs }] : []
    }),
  }
}

/** Reports whether the answer to a peek is that of a new key. */
const isNew = (step: Step, taken: Taken): boolean =>
  isSame({ ...takenOf(runKernel(undefined, taken.now, step), taken.now, step, false) }, { ...taken })

const isSame = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(a).every(([name, value]) =>
    typeof value === 'object' ? isSame({ ...value }, { ...(b[name] as object) }) : value === b[name],
  )
