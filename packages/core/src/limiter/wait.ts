import type { Decision } from '../algorithms/decision.ts'
import { isBlockList } from '../algorithms/penalty/block-list.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import { invalidOption } from '../common/errors.ts'
import { type Signal, whenAborted } from '../common/signal.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import { rollback } from '../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { isQueued } from '../policies/policy-of.ts'
import { acquireInLine, type InLine, retryIn } from './in-line.ts'
import { hasLine, joinLine, type Place } from './line.ts'
import { RateLimitedError } from './rate-limited.ts'
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
  throw invalidOption('signal must be an AbortSignal, such as the signal of an AbortController', signal)
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
  const left = (): Micros => Math.max(Math.ceil(maxWaitMicros - (monotonicMs() - startedMs) * 1000), 0)
  let place: Place | undefined
  return acquireAtTurn(checks, {
    acquire: (sender) => {
      const held = place
      place = undefined
      const waiting: InLine = { checks, left, onClientClosed, sender }
      return held ? acquireInLine(waiting, held) : acquireOnce(waiting)
    },
    hold: () => {
      place = joinLine(checks, true)
    },
    onClientClosed,
  })
}

async function acquireOnce(waiting: InLine): Promise<Acquisition | undefined> {
  const { checks, left, sender } = waiting
  if (checks.every(canReserve)) {
    if (sender.isHeld && !hasLine(checks)) await sender.untilFree()
    if (!hasLine(checks)) {
      const maxWaitMicros = left()
      const acquisition = await sender.send(maxWaitMicros)
      if (retryIn(acquisition, checks, maxWaitMicros) === undefined) return acquisition
    }
  }
  return acquireInLine(waiting, joinLine(checks))
}

const deniedError = (decision: Decision, checks: readonly PolicyCheck[]): RateLimitedError =>
  new RateLimitedError(
    decision,
    checks.some((check) => check.policy.name === decision.policy && isQueued(check)),
  )

/** Whether turns of a policy are reserved in the store. A block list has none: it only denies blocked keys. */
const canReserve = ({ policy: { quota } }: PolicyCheck): boolean =>
  quota.kernel === 'bucket' || quota.kernel === 'warm-up' || isBlockList(quota)
