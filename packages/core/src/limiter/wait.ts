import { acquire } from '../checks/acquisition.ts'
import { rollback } from '../checks/correct.ts'
import { type OnClientClosed, waitUnlessClosed } from '../common/client-closed.ts'
import { formatValue, QuotaError } from '../common/errors.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Signal, whenAborted } from '../common/signal.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { Decision } from '../decisions/decision.ts'
import { RateLimitedError } from '../decisions/rate-limited.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { isQueued } from '../policies/policy-of.ts'
import { isBlockList } from '../quotas/block-list.ts'
import { deadlineIn, unlessExpired } from '../remote/deadline.ts'
import { hasLine, joinLine } from './line.ts'
import type { ReserveOptions } from './reservation.ts'
import { acquireAtTurn } from './turns.ts'

/** Options of `wait`. */
export interface WaitOptions extends ReserveOptions {
  /**
   * Aborts the wait and returns the units. Pass the deadline as `maxWait`, which fails at once; an
   * `AbortSignal.timeout` cannot be read ahead of time.
   * @default none
   */
  readonly signal?: Signal
}

/** Checks an `AbortSignal`. */
export function checkSignal(signal: unknown): Signal | undefined {
  if (signal === undefined) return undefined
  const { aborted, addEventListener, removeEventListener } = signal as Partial<Signal>
  const methods = [addEventListener, removeEventListener]
  if (typeof aborted === 'boolean' && methods.every((method) => typeof method === 'function')) return signal as Signal
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `signal must be an AbortSignal, such as the signal of an AbortController; got ${formatValue(signal)}.`,
  )
}

/**
 * Resolves when it is the caller's turn, in the order of the calls. Rejects at once with a `RateLimitedError` if the wait is
 * longer than `maxWaitMicros`, or with the signal's reason if it aborts; then all units are refunded.
 */
export async function waitFor(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
  signal: Signal | undefined,
): Promise<Decision> {
  if (signal?.aborted) throw signal.reason
  const onLeave: OnClientClosed = (leave) => (signal ? whenAborted(signal, leave) : () => {})
  const acquisition = await acquireTurn(checks, maxWaitMicros, onLeave)
  if (acquisition === undefined) throw signal?.reason
  const { decision } = acquisition
  if (!decision.allowed) throw deniedError(decision, checks)
  if (!signal?.aborted) return decision
  await rollback(acquisition)
  throw signal.reason
}

/**
 * Resolves with an acquisition when its turn has come, with a denied one if the wait is too long, and with undefined if the
 * caller leaves first.
 *
 * A bucket reserves the turn in the store, so that the order holds for all processes. When a caller leaves, later callers in
 * this process move up. A window has no turns, nor has a blocked key: the callers in this process wait in line, and the first
 * of them retries when its wait is over.
 */
export async function acquireTurn(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  const startedMs = monotonicMs()
  const left = (): Micros => Math.max(maxWaitMicros - (monotonicMs() - startedMs) * 1000, 0)
  return acquireAtTurn(checks, () => acquireOnce(checks, left, onClientClosed), onClientClosed)
}

async function acquireOnce(
  checks: readonly PolicyCheck[],
  left: () => Micros,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  if (checks.every(canReserve) && !hasLine(checks)) {
    const maxWaitMicros = left()
    const acquisition = await acquire('consume', checks, { maxWaitMicros })
    if (retryIn(acquisition, checks, maxWaitMicros) === undefined) return acquisition
  }
  return acquireInLine(checks, left, onClientClosed)
}

async function acquireInLine(
  checks: readonly PolicyCheck[],
  left: () => Micros,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  const { ahead, giveUp, leave } = joinLine(checks)
  try {
    if (ahead !== undefined) {
      const acquisition = await acquire('peek', checks)
      if (acquisition.decision.retryAfterMs * 1000 > left()) return acquisition
      const isFirst = unlessExpired(
        ahead.then(() => true),
        deadlineIn(left()),
      )
      const known = await waitUnlessClosed(
        isFirst.then((first = false) => first),
        onClientClosed,
      )
      if (known === undefined) return undefined
      if (!known) giveUp()
    }
    return await attempt(checks, left(), onClientClosed)
  } finally {
    leave()
  }
}

async function attempt(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  const acquisition = await acquire('consume', checks, { maxWaitMicros })
  const retryMs = retryIn(acquisition, checks, maxWaitMicros)
  if (retryMs === undefined) return acquisition
  if (!(await delay(retryMs, onClientClosed))) return undefined
  // A timer may fire up to a millisecond early, which must not deny the retry.
  return attempt(checks, Math.max(maxWaitMicros - retryMs * 1000, 1_000), onClientClosed)
}

/** When a denied caller retries; undefined if it is allowed, or denied for longer than it waits. */
function retryIn({ decision }: Acquisition, checks: readonly PolicyCheck[], maxWaitMicros: Micros): number | undefined {
  const { allowed, retryAfterMs, degraded, violated } = decision
  // A bucket that denies has no turn within the wait; another limiter that is asked instead reserves none. And a denial
  // without either has no known wait.
  const mayBeOver = degraded?.action === 'fallback' || checks.some(mayRetry(violated))
  const isFinal = allowed || degraded?.action === 'deny' || !mayBeOver
  return isFinal || !(retryAfterMs * 1000 <= maxWaitMicros) ? undefined : retryAfterMs
}

/** Resolves with true when the time is over, with false if the caller leaves first. */
function delay(millis: number, onClientClosed: OnClientClosed): Promise<boolean> {
  return new Promise((resolve) => {
    let unregister: (() => void) | undefined
    const end = (isOver: boolean): void => {
      stop()
      unregister?.()
      resolve(isOver)
    }
    const stop = setLongTimeout(millis, () => end(true))
    unregister = onClientClosed(() => end(false))
  })
}

const deniedError = (decision: Decision, checks: readonly PolicyCheck[]): RateLimitedError =>
  new RateLimitedError(
    decision,
    checks.some((check) => check.policy.name === decision.policy && isQueued(check)),
  )

/** Whether turns of a policy are reserved in the store. A block list has none: it only denies blocked keys. */
const canReserve = ({ policy: { quota } }: PolicyCheck): boolean =>
  quota.kernel === 'bucket' || quota.kernel === 'warm-up' || isBlockList(quota)

/** Whether a denial may be over after the wait: by a policy without turns, or of a blocked key. */
const mayRetry =
  (violated: readonly string[]) =>
  ({ policy: { name, quota } }: PolicyCheck): boolean =>
    isBlockList(quota) ? violated.includes(name) : quota.kernel !== 'bucket' && quota.kernel !== 'warm-up'
