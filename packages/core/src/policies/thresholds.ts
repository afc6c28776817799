import type { Decision } from '../algorithms/decision.ts'
import { isCounted } from '../algorithms/merge.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import { evictOldest } from '../common/eviction.ts'
import { notify } from '../common/listener.ts'
import { oncePer } from '../common/once-per.ts'
import { processState } from '../common/process-state.ts'
import { monotonicMs } from '../common/time.ts'
import type { Logger } from '../common/warn.ts'
import { stateNamer } from '../stores/state-name.ts'
import type { StateKey, Store } from '../stores/store.ts'
import { isSync } from '../stores/store-kinds.ts'

/** A key has used a share of a quota, for the first time in its window. */
export interface ThresholdEvent {
  /** The name of the policy; of a shadow policy, `NAME (shadow)`. */
  readonly policy: string
  /** The key. */
  readonly key: string
  /** The share of the quota that is used: 0.8, or 1 if no unit is left. */
  readonly threshold: 0.8 | 1
  /** The decision of this policy that used it. */
  readonly decision: Decision
}

/** Receives the decision about a request of a key that was allowed. */
export type ThresholdWatch = (policy: WatchedPolicy, key: string, decision: Decision) => void

/** The part of a policy that is watched. */
interface WatchedPolicy {
  readonly name: string
  readonly quota: Quota
  readonly storeConfig: { readonly store: Store }
}

const THRESHOLDS = [0.8, 1] as const

/** The most keys that are known to have crossed a threshold. If there are more, those that crossed it first are evicted. */
const MOST_KEYS = 10_000

type Listener = (event: ThresholdEvent) => unknown

/** The crossings of a store's keys by listener: limiters with the same of both report each once, as the routes of a module do. */
const crossingsOf = oncePer('threshold crossings', (_store: Store) => new WeakMap<Listener, Map<string, Crossing>>())

const nameOf = (key: StateKey): string => processState('threshold names', stateNamer)(key)

/**
 * Calls `listener` when a key crosses 80 % and 100 % of a quota, each once per key and window, by the clock of the policy's
 * store. There are no timers: a key that has crossed a threshold is kept until its window ends, or until too many others have
 * crossed one.
 */
export function thresholdWatch(listener: Listener, logger: Logger): ThresholdWatch {
  return (policy, key, decision) => {
    const level = isCounted(decision) && decision.limit > 0 ? levelOf(decision) : 0
    if (level === 0) return
    const before = rememberLevel(crossingsIn(policy.storeConfig.store, listener), policy, key, decision, level)
    for (const threshold of THRESHOLDS.slice(before, level)) {
      notify('onThreshold', listener, { policy: policy.name, key, threshold, decision }, logger)
    }
  }
}

/** Remembers how many thresholds a key has crossed, and returns how many it had crossed before in its window. */
function rememberLevel(
  crossings: Map<string, Crossing>,
  { name: policy, quota, storeConfig: { store } }: WatchedPolicy,
  key: string,
  decision: Decision,
  level: number,
): number {
  const name = nameOf({ policy, key })
  const now = isSync(store) && store.clock ? store.clock() / 1000 : monotonicMs()
  const known = crossings.get(name)
  const last = known !== undefined && now < known.untilMs ? known : undefined
  if (last !== undefined && level <= last.level) return level
  crossings.delete(name)
  crossings.set(name, { level, untilMs: windowEndMs(quota, decision, now, last) })
  evictOldest(crossings, MOST_KEYS)
  return last?.level ?? 0
}

function crossingsIn(store: Store, listener: Listener): Map<string, Crossing> {
  const byListener = crossingsOf(store)
  const crossings = byListener.get(listener) ?? new Map<string, Crossing>()
  byListener.set(listener, crossings)
  return crossings
}

/** How many thresholds a key has crossed, and when its window ends. */
interface Crossing {
  readonly level: number
  readonly untilMs: number
}

/** How many thresholds are crossed. Compared in whole numbers: 0.8 times a limit may be rounded. */
function levelOf({ limit, remaining }: Decision): number {
  const used = limit - remaining
  if (used >= limit) return 2
  return 5 * used >= 4 * limit ? 1 : 0
}

/** The end of a fixed window or of a block, else one window's length from the first crossing. */
function windowEndMs(quota: Quota, { resetAfterMs }: Decision, now: number, last: Crossing | undefined): number {
  const isFixed =
    quota.kernel === 'penalty' || ('fixed' in quota && quota.fixed) || ('schedule' in quota && quota.schedule !== null)
  return isFixed ? now + resetAfterMs : (last?.untilMs ?? now + quota.window / 1000)
}
