import { isBlockList } from '../algorithms/penalty/block-list.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import type { Micros } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { canBlock } from './block.ts'
import type { Place } from './line.ts'
import type { Sender } from './turns.ts'
import { waitersFor } from './waiters.ts'

/** A caller that acquires in line. */
export interface InLine {
  readonly checks: readonly PolicyCheck[]
  readonly left: () => Micros
  readonly onClientClosed: OnClientClosed
  readonly sender: Sender
}

/** Acquires when it is the turn of a place in line; undefined if the caller leaves first. */
export async function acquireInLine(waiting: InLine, place: Place): Promise<Acquisition | undefined> {
  const { checks, left } = waiting
  try {
    if (!place.isFirst()) {
      const acquisition = await acquire('peek', checks)
      if (acquisition.decision.retryAfterMs * 1000 > left()) return acquisition
    }
    return await attempt(waiting, place)
  } finally {
    place.leave()
  }
}

/** Acquires when the caller is the first in line, and again when the wait of a denial is over or its states have changed. */
async function attempt(waiting: InLine, place: Place): Promise<Acquisition | undefined> {
  const { checks, left, onClientClosed, sender } = waiting
  let maxWaitMicros: Micros | undefined
  for (;;) {
    if (!mayGo(waiting, place)) {
      maxWaitMicros = undefined
      const end = await untilMayGo(waiting, place)
      if (end) return endOf(end, checks)
    }
    place.expect(Math.max(...checks.map(({ policy }) => policy.storeConfig.deadline)) / 1000)
    maxWaitMicros ??= left()
    const acquisition = await sender.send(maxWaitMicros)
    const retryMs = retryIn(acquisition, checks, maxWaitMicros)
    if (retryMs === undefined) return acquisition
    await holdBlocked(acquisition, checks)
    const pause = place.isFirst() ? await pauseInLine(place, retryMs, onClientClosed) : 'called'
    if (pause === 'left') return undefined
    // A timer may fire up to a millisecond early, which must not deny the retry.
    maxWaitMicros = pause === 'over' ? Math.max(Math.ceil(maxWaitMicros - retryMs * 1000), 1_000) : undefined
  }
}

const mayGo = ({ sender }: InLine, place: Place): boolean => place.isFirst() && !sender.isHeld

/** Waits until the caller may go: undefined, unless its time is over or it leaves before. */
async function untilMayGo(waiting: InLine, place: Place): Promise<'over' | 'left' | undefined> {
  const { left, onClientClosed, sender } = waiting
  while (!mayGo(waiting, place)) {
    if (place.isFirst()) await sender.untilFree()
    else {
      const pause = await pauseInLine(place, left() / 1000, onClientClosed)
      if (pause === 'left' || (pause === 'over' && !(await place.passLost()))) return pause
    }
  }
  return undefined
}

/** The denial of a caller whose time is over: units that are available now are those of the callers ahead. */
async function endOf(end: 'over' | 'left', checks: readonly PolicyCheck[]): Promise<Acquisition | undefined> {
  if (end === 'left') return undefined
  const peeked = await acquire('peek', checks)
  const { decision, results } = peeked
  if (!decision.allowed) return peeked
  const retryAfterMs = Math.max(decision.replenishAfterMs, 1)
  const denial = { ...decision, allowed: false, violated: [decision.policy], retryAfterMs }
  return { checks: peeked.checks, results, decision: denial }
}

/** Those who have turns were there before one who is denied by a block. */
async function holdBlocked({ decision }: Acquisition, checks: readonly PolicyCheck[]): Promise<void> {
  const blocking = checks.filter(({ policy }) => canBlock(policy) && decision.violated.includes(policy.name))
  const waiters = blocking.flatMap(({ policy, key }) => waitersFor(policy.storeConfig.store, policy.name, key))
  await Promise.all(waiters.map((each) => each.holdIfBlocked?.()))
}

/** When a denied caller retries; undefined if it is allowed, or denied for longer than it waits. */
export function retryIn(
  { decision }: Acquisition,
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
): number | undefined {
  const { allowed, retryAfterMs, degraded, violated } = decision
  // A bucket that denies has no turn within the wait; another limiter that is asked instead reserves none. And a denial
  // without either has no known wait.
  const mayBeOver = degraded?.action === 'fallback' || checks.some(mayRetry(violated))
  const isFinal = allowed || degraded?.action === 'deny' || !mayBeOver
  return isFinal || !(retryAfterMs * 1000 <= maxWaitMicros) ? undefined : retryAfterMs
}

/** Waits until the time is over, the caller has to look again, or it leaves. */
async function pauseInLine(
  place: Place,
  millis: number,
  onClientClosed: OnClientClosed,
): Promise<'over' | 'called' | 'left'> {
  let stops: readonly (() => void)[] = []
  place.expect(millis)
  try {
    return await new Promise((resolve) => {
      stops = [
        setLongTimeout(millis, () => resolve('over')),
        place.onCall(() => resolve('called')),
        onClientClosed(() => resolve('left')),
      ]
    })
  } finally {
    for (const stop of stops) stop()
  }
}

/** Whether a denial may be over after the wait: by a policy without turns, or of a blocked key. */
const mayRetry =
  (violated: readonly string[]) =>
  ({ policy: { name, quota } }: PolicyCheck): boolean =>
    isBlockList(quota) ? violated.includes(name) : quota.kernel !== 'bucket' && quota.kernel !== 'warm-up'
