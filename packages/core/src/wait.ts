import { ask, put } from './booking.ts'
import type { Decision } from './decision.ts'
import { type Ask, queues } from './policy.ts'
import { RateLimitedError } from './rate-limited.ts'
import type { ReserveOptions } from './reservation.ts'
import { type Signal, sleep, unlessAborted } from './sleep.ts'
import type { Store } from './store.ts'
import type { Micros } from './time.ts'
import { waitForTurn } from './turns.ts'

/** What `wait` takes besides the key. */
export interface WaitOptions extends ReserveOptions {
  /** Gives up the wait, and the units, when it aborts. */
  readonly signal?: Signal
}

/**
 * Resolves when it is the caller's turn, in the order in which callers came. Rejects with a `RateLimitedError` at once
 * when the turn would come too late, or with the signal's reason; then nothing stays taken.
 *
 * A bucket books the turn in the store, so that the order holds for all processes. When a caller gives up, those behind
 * it in this process move up. A window cannot be booked: there
 * the callers in this process stand in line, and the first of them asks again when its wait is over.
 */
export async function wait(asks: readonly Ask[], patience: Micros, signal: Signal | undefined): Promise<Decision> {
  if (signal?.aborted) throw signal.reason
  if (asks.every(isBucket)) return turn(asks, patience, signal)
  const started = Date.now()
  const { ahead, leave } = standInLine(asks)
  try {
    if (ahead !== undefined) {
      const decision = await ask('peek', asks)
      if (decision.retryAfterMs * 1000 > patience) throw refused(decision, asks)
      await unlessAborted(ahead, signal)
    }
    return await turn(asks, Math.max(patience - (Date.now() - started) * 1000, 0), signal)
  } finally {
    leave()
  }
}

async function turn(asks: readonly Ask[], patience: Micros, signal?: Signal): Promise<Decision> {
  const booking = await put('consume', asks, { patience })
  const { decision } = booking
  if (decision.allowed) {
    const turn = decision.delayMs > 0 || signal?.aborted ? await waitForTurn(booking, onAbort(signal)) : booking
    if (turn === undefined) throw signal?.reason
    return decision
  }
  const left = patience - decision.retryAfterMs * 1000
  // A bucket would have booked the turn, had there been one: its queue is full, or too long. And without the store no
  // wait is known.
  const isKnown = decision.degraded?.action !== 'deny'
  if (!(left >= 0) || !isKnown || asks.every(isBucket)) throw refused(decision, asks)
  await sleep(decision.retryAfterMs, signal)
  // A timer may fire up to a millisecond early; that must not cost the caller its turn.
  return turn(asks, Math.max(left, 1_000), signal)
}

const onAbort =
  (signal: Signal | undefined) =>
  (leave: () => void): (() => void) => {
    if (signal?.aborted) leave()
    else signal?.addEventListener('abort', leave)
    return () => signal?.removeEventListener('abort', leave)
  }

const refused = (decision: Decision, asks: readonly Ask[]): RateLimitedError =>
  new RateLimitedError(
    decision,
    asks.some((ask) => ask.policy.name === decision.policy && queues(ask)),
  )

const isBucket = ({ policy }: Ask): boolean => policy.quota.kernel === 'bucket'

const lines = new WeakMap<Store, Map<string, Promise<void>>>()

/** Stands behind the callers in this process that wait for the same states; `ahead` resolves when they have left. */
function standInLine(asks: readonly Ask[]): { ahead: Promise<void> | undefined; leave: () => void } {
  const { store } = (asks[0] as Ask).policy.source
  const known = lines.get(store) ?? new Map<string, Promise<void>>()
  lines.set(store, known)
  const name = JSON.stringify(asks.map(({ policy, key }) => [policy.name, key]))
  const ahead = known.get(name)
  let left: () => void = () => {}
  const gone = new Promise<void>((resolve) => {
    left = resolve
  })
  const last = ahead === undefined ? gone : ahead.then(() => gone)
  known.set(name, last)
  const leave = (): void => {
    left()
    if (known.get(name) === last) known.delete(name)
  }
  return { ahead, leave }
}
