import { evictOldest } from '../common/eviction.ts'
import { notify } from '../common/listener.ts'
import { oncePer } from '../common/once-per.ts'
import { processState } from '../common/process-state.ts'
import { monotonicMs } from '../common/time.ts'
import type { Logger } from '../common/warn.ts'
import type { Decision } from '../decisions/decision.ts'
import { isCounted } from '../decisions/merge.ts'
import type { Quota } from '../quotas/quota-types.ts'
import { stateNamer } from '../stores/state-name.ts'
import { isSync, type StateKey, type Store } from '../stores/store.ts'

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

/** Receives the decision about a key. */
export type ThresholdWatch = (
  policy: { readonly name: string; readonly quota: Quota },
  key: string,
  decision: Decision,
) => void

const THRESHOLDS = [0.8, 1] as const

/** The most keys that are known to have crossed a threshold. If there are more, those that crossed it first are evicted. */
const MOST_KEYS = 10_000

type Listener = (event: ThresholdEvent) => unknown

/** The crossings of a store's keys by listener: limiters with the same of both report each once, as the routes of a module do. */
const crossingsOf = oncePer('threshold crossings', (_store: Store) => new WeakMap<Listener, Map<string, Crossing>>())

const nameOf = (key: StateKey): string => processState('threshold names', stateNamer)(key)

/**
 * Calls `listener` when a key crosses 80 % and 100 % of a quota, each once per key and window. There are no timers: a key
 * that has crossed a threshold is kept until its window ends, or until too many others have crossed one.
 */
export function thresholdWatch(listener: Listener, store: Store, logger: Logger): ThresholdWatch {
  const clockMs = isSync(store) && store.clock ? millisOf(store.clock) : monotonicMs
  const byListener = crossingsOf(store)
  const crossings = byListener.get(listener) ?? new Map<string, Crossing>()
  byListener.set(listener, crossings)
  const remember = (name: string, crossing: Crossing): void => {
    crossings.delete(name)
    crossings.set(name, crossing)
    evictOldest(crossings, MOST_KEYS)
  }
  return (policy, key, decision) => {
    const level = isCounted(decision) && decision.limit > 0 ? levelOf(decision) : 0
    if (level === 0) return
    const name = nameOf({ policy: policy.name, key })
    const now = clockMs()
    const known = crossings.get(name)
    const last = known !== undefined && now < known.untilMs ? known : undefined
    const before = last === undefined ? 0 : last.level
    if (level <= before) return
    remember(name, { level, untilMs: last?.untilMs ?? now + windowLeftMs(policy.quota, decision) })
    for (const threshold of THRESHOLDS.slice(before, level)) {
      notify('onThreshold', listener, { policy: policy.name, key, threshold, decision }, logger)
    }
  }
}

/** How many thresholds a key has crossed, and when its window ends. */
interface Crossing {
  readonly level: number
  readonly untilMs: number
}

const millisOf = (clock: () => number) => (): number => clock() / 1000

/** How many thresholds are crossed. Compared in whole numbers: 0.8 times a limit may be rounded. */
function levelOf({ limit, remaining }: Decision): number {
  const used = limit - remaining
  if (used >= limit) return 2
  return 5 * used >= 4 * limit ? 1 : 0
}

/** How long the window of a quota lasts from now: to the end of a fixed window, else for one window's length. */
function windowLeftMs(quota: Quota, { resetAfterMs }: Decision): number {
  const isFixed = (quota.kernel === 'bucket' && quota.schedule !== null) || ('fixed' in quota && quota.fixed)
  return isFixed ? resetAfterMs : quota.window / 1000
}
