import type { Decision } from './decision.ts'
import { divideQuota } from './divide-quota.ts'
import { formatValue, QuotaError } from './errors.ts'
import type { BucketStep } from './kernels/bucket.ts'
import { MOST_SCALE } from './kernels/fraction.ts'
import type { Step } from './kernels/kernel.ts'
import type { BucketQuota, Quota } from './quota.ts'
import { isSync, type PreparedTake, type Store } from './store.ts'
import type { StoreConfig } from './store-config.ts'
import { stepFor } from './verbs.ts'

/** A quota under the name its states have in a store and its numbers have in headers. */
export interface Policy {
  readonly name: string
  readonly quota: Quota
  readonly storeConfig: StoreConfig
  /** What this process enforces by itself while the store does not answer. */
  readonly localQuota: Quota
  /** The step of a plain request, made once. */
  readonly singleUnit: Step
  /** The straight way of a plain request; undefined where there is none. */
  readonly fastPath: FastPath | undefined
}

/** A bucket's step that is ready to be taken, and of which `decideSingleUnit` tells. */
export interface FastPath {
  readonly take: PreparedTake
  readonly quota: BucketQuota
  readonly step: BucketStep
}

/** One policy asked about one key. */
export interface PolicyCheck {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
  /** What is asked instead if this is denied. */
  readonly spill?: PolicyCheck
  /** What was denied, so that this is asked in its place. */
  readonly emptied?: readonly EmptyPolicy[]
}

/** An ask that was denied, and whose spill policy was asked then. */
export interface EmptyPolicy {
  readonly check: PolicyCheck
  readonly decision: Decision
}

const KERNELS: readonly string[] = ['bucket', 'sliding-window', 'sliding-log', 'warm-up']

/** Names a quota, and its states. Names go into headers as they are, hence printable ASCII. */
export function policyOf(name: string, quota: Quota, storeConfig: StoreConfig, stateName: string = name): Policy {
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,100}$/.test(name)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `a policy name goes into headers: 1 to 100 printable ASCII characters, such as "per-user"; got ${formatValue(name)}.`,
    )
  }
  if (!isQuota(quota)) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `quota must be built by perMinute(100) or one of its siblings; got ${formatValue(quota)}.`,
    )
  }
  const { maxLogLimit = Infinity } = storeConfig.store
  if (quota.kernel === 'sliding-log' && quota.limit > maxLogLimit) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `policy ${formatValue(name)}: this store keeps sliding logs of up to ${maxLogLimit} entries, since a take reads and writes the whole log; got a limit of ${quota.limit}. Use slidingWindow or tokenBucket, or memoryStore().`,
    )
  }
  const singleUnit = stepFor(quota, 'consume', 1)
  const { store, replicas } = storeConfig
  const localQuota = replicas === 1 ? quota : divideQuota(quota, { replicas })
  return {
    name: stateName,
    quota,
    storeConfig,
    localQuota,
    singleUnit,
    fastPath: fastPathOf(store, stateName, quota, singleUnit),
  }
}

/** Reports whether a value is a quota, as far as that can be seen. */
export const isQuota = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && KERNELS.includes((value as Quota).kernel)

/** One unit, of a bucket in which all that fits goes ahead at once and comes back continuously: nearly every request. */
function fastPathOf(store: Store, name: string, quota: Quota, step: Step): FastPath | undefined {
  if (!isSync(store) || !store.prepareSync || quota.kernel !== 'bucket' || step.kernel !== 'bucket') return undefined
  if (quota.schedule !== null || quota.start !== null || quota.immediateUnits < quota.limit) return undefined
  // Ticks beyond that are not counted by one number.
  if (step.ceiling * quota.scale > MOST_SCALE) return undefined
  return { take: store.prepareSync(name, step), quota, step }
}

/** The step that consumes `cost` units: the one that is ready, where it is that one. */
export const stepToConsume = ({ quota, singleUnit }: Policy, cost: number): Step =>
  cost === 1 ? singleUnit : stepFor(quota, 'consume', cost)

/** Reports whether requests under this policy wait their turn: its bucket takes more than it lets go at once. */
export const isQueued = ({ policy: { quota }, spill }: PolicyCheck): boolean =>
  (quota.kernel === 'bucket' && quota.immediateUnits < quota.limit) || (spill !== undefined && isQueued(spill))

/**
 * The asks by what one store takes together. Stores in this process come first: what they refuse costs no way to one
 * elsewhere, and what they took is given back for nothing.
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
    const part = store.slotOf?.({ policy: check.policy.name, key: check.key })
    const known = ofStore.get(part)
    if (known === undefined) ofStore.set(part, [check])
    else known.push(check)
  }
  return [...groups.entries()]
    .sort(([a], [b]) => Number(isSync(b)) - Number(isSync(a)))
    .flatMap(([, ofStore]) => [...ofStore.values()])
}
