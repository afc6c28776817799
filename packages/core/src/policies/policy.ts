import { checkQuota, shareOfQuota } from '../algorithms/algorithm.ts'
import { formatValue, QuotaError } from '../common/errors.ts'
import type { Decision } from '../decisions/decision.ts'
import type { Quota } from '../quotas/quota-types.ts'
import { isSync, type Store } from '../stores/store.ts'
import { ConsumeSteps } from './consume-steps.ts'
import type { StoreConfig } from './store-config.ts'

/** A quota under the name its states have in a store and its numbers have in headers. */
export interface Policy {
  readonly name: string
  readonly quota: Quota
  readonly storeConfig: StoreConfig
  /** The quota that this process enforces while the store does not answer. */
  readonly localQuota: Quota
  /** The steps that consume units, and their prepared takes. */
  readonly steps: ConsumeSteps
}

/** The check of one key against one policy. */
export interface PolicyCheck {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
  /** The check that replaces this one if it is denied. */
  readonly spill?: PolicyCheck
  /** The denied checks that this one replaces. */
  readonly emptied?: readonly EmptyPolicy[]
}

/** The store that all of these checks go to, and how. */
export const configOf = (checks: readonly PolicyCheck[]): StoreConfig => (checks[0] as PolicyCheck).policy.storeConfig

/** Returns the actual cost of a check. */
export type ActualOf = (check: PolicyCheck) => number

/** A denied check whose spill policy was checked instead. */
export interface EmptyPolicy {
  readonly check: PolicyCheck
  readonly decision: Decision
}

/** Names a quota and its states. Names are sent in headers, hence printable ASCII. */
export function policyOf(name: string, quota: Quota, storeConfig: StoreConfig, stateName: string = name): Policy {
  checkPolicyName(name)
  checkQuota('quota', quota)
  const { maxLogLimit = Infinity } = storeConfig.store
  if (quota.kernel === 'sliding-log' && quota.limit > maxLogLimit) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `policy ${formatValue(name)}: this store keeps sliding logs of up to ${maxLogLimit} entries, since a take reads and writes the whole log; got a limit of ${quota.limit}. Use slidingWindow or tokenBucket, or memoryStore().`,
    )
  }
  const { store, replicas } = storeConfig
  return {
    name: stateName,
    quota,
    storeConfig,
    localQuota: shareOfQuota(quota, replicas),
    steps: new ConsumeSteps(stateName, quota, store),
  }
}

export function checkPolicyName(name: unknown): void {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,100}$/.test(name)) return
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `a policy name goes into headers: 1 to 100 printable ASCII characters, such as "per-user"; got ${formatValue(name)}.`,
  )
}

/** Reports whether requests wait in a queue: the bucket accepts more units than it allows immediately. */
export const isQueued = ({ policy: { quota }, spill }: PolicyCheck): boolean =>
  (quota.kernel === 'bucket' && quota.immediateUnits < quota.limit) || (spill !== undefined && isQueued(spill))

/**
 * Groups checks by store and hash slot: each group is one atomic call. In-memory stores come first: their denial saves the
 * call to a remote store, and their refund needs no network.
 */
export function groupByStore(checks: readonly PolicyCheck[]): readonly (readonly PolicyCheck[])[] {
  const store = checks[0]?.policy.storeConfig.store
  if (checks.length === 1 || (!store?.slotOf && checks.every(({ policy }) => policy.storeConfig.store === store)))
    return [checks]
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
