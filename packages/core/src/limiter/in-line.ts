import { isBlockList } from '../algorithms/penalty/block-list.ts'
import type { Micros } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import type { PolicyCheck } from '../policies/policy.ts'
import { canBlock } from './blocked.ts'
import type { Caller } from './caller.ts'
import { type Answer, type Callers, callersOf } from './callers.ts'

/** Acquires for a caller when it may; undefined if it leaves before. */
export async function acquireInLine(callers: Callers, caller: Caller): Promise<Answer | undefined> {
  caller.join()
  try {
    while (callers.areHeld && !caller.hasLeft) await caller.pause(Infinity)
    if (!mayGo(callers, caller)) {
      const acquisition = await acquire('peek', caller.checks)
      if (acquisition.decision.retryAfterMs * 1000 > caller.left()) return { acquisition }
    }
    return await attempt(callers, caller)
  } finally {
    caller.leaveLine()
  }
}

/** Acquires when the caller may go, and again when the wait of a denial is over or its states have changed. */
async function attempt(callers: Callers, caller: Caller): Promise<Answer | undefined> {
  let maxWaitMicros: Micros | undefined
  for (;;) {
    if (!mayGo(callers, caller)) {
      maxWaitMicros = undefined
      const denial = await untilMayGo(callers, caller)
      if (denial) return denial
    }
    if (caller.hasLeft) return undefined
    keepPlace(caller, maxWaitMicros !== undefined)
    maxWaitMicros ??= caller.left()
    const answer = await callers.send(caller, maxWaitMicros)
    const retryMs = retryIn(answer, caller, maxWaitMicros)
    if (retryMs === undefined) return answer
    await releaseBlocked(answer, caller.checks)
    const isOver = caller.isFirst() && (await caller.pause(retryMs))
    maxWaitMicros = isOver ? Math.max(Math.ceil(maxWaitMicros - retryMs * 1000), LEAST) : undefined
  }
}

const mayGo = (callers: Callers, caller: Caller): boolean =>
  caller.hasLeft || ((caller.isFirst() || caller.maxWaitMicros === undefined) && !callers.areHeld)

/** Waits until the caller may go, or has left; resolves with a denial if its time is over before. */
async function untilMayGo(callers: Callers, caller: Caller): Promise<Answer | undefined> {
  while (!mayGo(callers, caller)) {
    const isOver = await caller.pause(callers.areHeld ? Infinity : caller.left() / 1000)
    if (isOver && !(await caller.passLost())) return deniedAtEnd(caller.checks)
  }
  return undefined
}

/** Those behind a caller must not acquire before they know that it is allowed, if it may be denied until later. */
function keepPlace(caller: Caller, isRetry: boolean): void {
  const { checks, maxWaitMicros } = caller
  if (!isRetry && (maxWaitMicros === undefined || checks.every(canReserve))) caller.leaveLine()
  else caller.expect(Math.max(...checks.map(({ policy }) => policy.storeConfig.deadline)) / 1000)
}

/** The denial of a caller whose time is over: units that are available now are those of the callers ahead. */
async function deniedAtEnd(checks: readonly PolicyCheck[]): Promise<Answer> {
  const acquisition = await acquire('peek', checks)
  const { decision } = acquisition
  if (!decision.allowed) return { acquisition }
  const retryAfterMs = Math.max(decision.replenishAfterMs, 1)
  const denial = { ...decision, allowed: false, violated: [decision.policy], retryAfterMs }
  return { acquisition: { checks: acquisition.checks, results: acquisition.results, decision: denial } }
}

/** Those who have turns were there before one who is denied by a block. */
async function releaseBlocked({ acquisition }: Answer, checks: readonly PolicyCheck[]): Promise<void> {
  const { violated } = acquisition.decision
  const blocking = checks.filter(({ policy }) => canBlock(policy) && violated.includes(policy.name))
  await Promise.all(callersOf(blocking).map((callers) => callers.releaseIfBlocked()))
}

/** How often a caller looks again if it is not known when units are available. */
const LOOKS_EVERY_MS = 100
/** A timer may fire up to a millisecond early, which must not deny the retry. */
const LEAST: Micros = 1_000

/** When a denied caller retries; undefined if it is allowed, or denied for longer than it waits. */
function retryIn({ acquisition }: Answer, caller: Caller, maxWaitMicros: Micros): number | undefined {
  const { allowed, retryAfterMs, degraded, violated } = acquisition.decision
  // A bucket that denies has no turn within the wait; another limiter that is asked instead reserves none. And a denial
  // without either has no known wait.
  const mayBeOver = degraded?.action === 'fallback' || caller.checks.some(mayRetry(violated))
  const isFinal = allowed || caller.maxWaitMicros === undefined || degraded?.action === 'deny' || !mayBeOver
  if (isFinal || !(retryAfterMs * 1000 <= maxWaitMicros)) return undefined
  if (retryAfterMs > 0) return retryAfterMs
  return maxWaitMicros > LEAST ? Math.min(LOOKS_EVERY_MS, maxWaitMicros / 1000) : undefined
}

/** Whether a denial may be over after the wait: by a policy without turns, or of a blocked key. */
const mayRetry =
  (violated: readonly string[]) =>
  (check: PolicyCheck): boolean =>
    !canReserve(check) || (isBlockList(check.policy.quota) && violated.includes(check.policy.name))

/** Whether turns of a policy are reserved in the store. A block list has none: it only denies blocked keys. */
const canReserve = ({ policy: { quota } }: PolicyCheck): boolean =>
  quota.kernel === 'bucket' || quota.kernel === 'warm-up' || isBlockList(quota)
