import type { Decision } from '../algorithms/decision.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import { type Signal, whenAborted } from '../common/signal.ts'
import type { Micros } from '../common/time.ts'
import { rollback } from '../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { isQueued } from '../policies/policy-of.ts'
import { Caller } from './caller.ts'
import { enter } from './callers.ts'
import { acquireInLine } from './in-line.ts'
import { RateLimitedError } from './rate-limited.ts'
import type { ReserveOptions } from './reservation.ts'

/** Options of `wait`. */
export interface WaitOptions extends ReserveOptions {
  /**
   * Aborts the wait and returns the units. Pass the deadline as `maxWait`, which fails at once; an
   * `AbortSignal.timeout` cannot be read ahead of time.
   * @default none
   */
  readonly signal?: Signal
}

/** Calls back when a signal aborts; never without one. */
export const leavingBy =
  (signal: Signal | undefined): OnClientClosed =>
  (leave) =>
    signal ? whenAborted(signal, leave) : () => {}

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
  const acquisition = await acquireTurn(checks, maxWaitMicros, leavingBy(signal))
  if (acquisition === undefined) throw signal?.reason
  const { decision } = acquisition
  if (!decision.allowed) throw deniedError(decision, checks)
  if (!signal?.aborted) return decision
  await rollback(acquisition)
  throw signal.reason
}

/**
 * Resolves with an acquisition when its turn has come, with a denied one if the wait is too long, and with undefined if the
 * caller leaves first. Without `maxWaitMicros`, it waits in the queue of its bucket only.
 *
 * A bucket reserves the turn in the store, so that the order holds for all processes. When a caller leaves, later callers in
 * this process move up. A window has no turns, nor has a blocked key: the callers in this process wait in line, and the first
 * of them retries when its wait is over.
 */
export async function acquireTurn(
  checks: readonly PolicyCheck[],
  maxWaitMicros: Micros | undefined,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  const callers = enter(checks)
  const caller = new Caller(checks, maxWaitMicros, onClientClosed, callers.line)
  try {
    for (;;) {
      const answer = await acquireInLine(callers, caller)
      const served = answer?.turn ? await answer.turn : answer?.acquisition
      if (served || caller.hasLeft) return served
    }
  } finally {
    caller.end()
    callers.exit()
  }
}

const deniedError = (decision: Decision, checks: readonly PolicyCheck[]): RateLimitedError =>
  new RateLimitedError(
    decision,
    checks.some((check) => check.policy.name === decision.policy && isQueued(check)),
  )
