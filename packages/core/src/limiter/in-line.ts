import { isBlockList } from '../algorithms/penalty/block-list.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import type { Micros } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { canBlock } from './block.ts'
import type { Place } from './line.ts'
import type { Sender } from './sender.ts'
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
      if (!(await mayGoInTime(waiting, place))) return undefined
    }
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

/** Waits until the caller is the first in line, or it no longer waits for those ahead. False if it leaves. */
async function mayGoInTime(waiting: InLine, place: Place): Promise<boolean> {
  const { left, onClientClosed, sender } = waiting
  while (!mayGo(waiting, place)) {
    if (place.isFirst()) await sender.untilFree()
    else {
      const pause = await pauseInLine(place, left() / 1000, onClientClosed)
      if (pause === 'left') return false
      if (pause === 'over') place.giveUp()
    }
  }
  return true
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
