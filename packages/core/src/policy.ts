import type { Decision } from './decision.ts'
import { QuotaError, shown } from './errors.ts'
import type { BucketStep } from './kernels/bucket.ts'
import { MOST_SCALE } from './kernels/fraction.ts'
import type { Step } from './kernels/kernel.ts'
import type { BucketQuota, Quota } from './quota.ts'
import { shareOf } from './share.ts'
import type { Source } from './source.ts'
import { isSync, type PreparedTake, type Store } from './store.ts'
import { stepFor } from './verbs.ts'

/** A quota under the name its states have in a store and its numbers have in headers. */
export interface Policy {
  readonly name: string
  readonly quota: Quota
  readonly source: Source
  /** What this process enforces by itself while the store does not answer. */
  readonly share: Quota
  /** The step of a plain request, made once. */
  readonly one: Step
  /** The straight way of a plain request; undefined where there is none. */
  readonly straight: StraightWay | undefined
}

/** A bucket's step that is ready to be taken, and of which `decideOne` tells. */
export interface StraightWay {
  readonly take: PreparedTake
  readonly quota: BucketQuota
  readonly step: BucketStep
}

/** One policy asked about one key. */
export interface Ask {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
  /** What is asked instead if this is denied. */
  readonly spill?: Ask
  /** What was denied, so that this is asked in its place. */
  readonly emptied?: readonly Emptied[]
}

/** An ask that was denied, and whose spill policy was asked then. */
export interface Emptied {
  readonly ask: Ask
  readonly decision: Decision
}

const KERNELS: readonly string[] = ['bucket', 'sliding-window', 'sliding-log']

/** Names a quota, and its states. Names go into headers as they are, hence printable ASCII. */
export function policyOf(name: string, quota: Quota, source: Source, stateName: string = name): Policy {
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,100}$/.test(name)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `a policy name goes into headers: 1 to 100 printable ASCII characters, such as "per-user"; got ${shown(name)}.`,
    )
  }
  if (!isQuota(quota)) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `quota must be built by perMinute(100) or one of its siblings; got ${shown(quota)}.`,
    )
  }
  const { maxLogLimit = Infinity } = source.store
  if (quota.kernel === 'sliding-log' && quota.limit > maxLogLimit) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `policy ${shown(name)}: this store keeps sliding logs of up to ${maxLogLimit} entries, since a take reads and writes the whole log; got a limit of ${quota.limit}. Use slidingWindow or tokenBucket, or memoryStore().`,
    )
  }
  const one = stepFor(quota, 'consume', 1)
  const { store, replicas } = source
  const share = replicas === 1 ? quota : shareOf(quota, { replicas })
  return { name: stateName, quota, source, share, one, straight: straightWay(store, stateName, quota, one) }
}

/** Reports whether a value is a quota, as far as that can be seen. */
export const isQuota = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && KERNELS.includes((value as Quota).kernel)

/** One unit, of a bucket in which all that fits goes ahead at once and comes back continuously: nearly every request. */
function straightWay(store: Store, name: string, quota: Quota, step: Step): StraightWay | undefined {
  if (!isSync(store) || !store.prepareSync || quota.kernel !== 'bucket' || step.kernel !== 'bucket') return undefined
  if (quota.grain !== null || quota.start !== null || quota.prompt < quota.limit) return undefined
  // Ticks beyond that are not counted by one number.
  if (step.ceiling * quota.scale > MOST_SCALE) return undefined
  return { take: store.prepareSync(name, step), quota, step }
}

/** The step that consumes `cost` units: the one that is ready, where it is that one. */
export const stepToConsume = ({ quota, one }: Policy, cost: number): Step =>
  cost === 1 ? one : stepFor(quota, 'consume', cost)

/** Reports whether requests under this policy wait their turn: its bucket takes more than it lets go at once. */
export const queues = ({ policy: { quota }, spill }: Ask): boolean =>
  (quota.kernel === 'bucket' && quota.prompt < quota.limit) || (spill !== undefined && queues(spill))

/**
 * The asks by what one store takes together. Stores in this process come first: what they refuse costs no way to one
 * elsewhere, and what they took is given back for nothing.
 */
export function partsOf(asks: readonly Ask[]): readonly (readonly Ask[])[] {
  const store = asks[0]?.policy.source.store
  if (asks.length === 1 || (!store?.partOf && asks.every(({ policy }) => policy.source.store === store))) return [asks]
  const parts = new Map<Store, Map<string | number | undefined, Ask[]>>()
  for (const ask of asks) {
    const { store } = ask.policy.source
    const ofStore = parts.get(store) ?? new Map<string | number | undefined, Ask[]>()
    parts.set(store, ofStore)
    const part = store.partOf?.({ policy: ask.policy.name, key: ask.key })
    const known = ofStore.get(part)
    if (known === undefined) ofStore.set(part, [ask])
    else known.push(ask)
  }
  return [...parts.entries()]
    .sort(([a], [b]) => Number(isSync(b)) - Number(isSync(a)))
    .flatMap(([, ofStore]) => [...ofStore.values()])
}
