import { type Booking, giveBack, put } from './booking.ts'
import type { Decision } from './decision.ts'
import { type OnLeave, unlessLeft } from './leaving.ts'
import { oncePer } from './once-per.ts'
import { type Ask, queues } from './policy.ts'
import { RateLimitedError } from './rate-limited.ts'
import type { ReserveOptions } from './reservation.ts'
import { later, type Signal } from './sleep.ts'
import type { Store } from './store.ts'
import type { Micros } from './time.ts'
import { waitForTurn } from './turns.ts'

/** What `wait` takes besides the key. */
export interface WaitOptions extends ReserveOptions {
  /**
   * Aborts the wait and returns the units. Pass the deadline as `maxWait`, which fails at once; an
   * `AbortSignal.timeout` cannot be read ahead of time.
   * @default none
   */
  readonly signal?: Signal
}

/**
 * Resolves when it is the caller's turn, in the order in which callers came. Rejects with a `RateLimitedError` at once
 * when the turn would come too late, or with the signal's reason; then nothing stays taken.
 */
export async function wait(asks: readonly Ask[], patience: Micros, signal: Signal | undefined): Promise<Decision> {
  if (signal?.aborted) throw signal.reason
  const booking = await bookTurn(asks, patience, onAbort(signal))
  if (booking === undefined) throw signal?.reason
  const { decision } = booking
  if (!decision.allowed) throw refused(decision, asks)
  if (!signal?.aborted) return decision
  await giveBack(booking)
  throw signal.reason
}

/**
 * Resolves with a booking when its turn has come, with a refused one if the turn would come too late, and with undefined
 * if the caller leaves first.
 *
 * A bucket books the turn in the store, so that the order holds for all processes. When a caller gives up, those behind
 * it in this process move up. A window cannot be booked: the callers in this process queue up, and the first of them asks
 * again when its wait is over.
 */
export async function bookTurn(asks: readonly Ask[], patience: Micros, onLeave: OnLeave): Promise<Booking | undefined> {
  if (asks.every(isBucket)) return attempt(asks, patience, onLeave)
  const started = Date.now()
  const { ahead, leave } = standInLine(asks)
  try {
    if (ahead !== undefined) {
      const booking = await put('peek', asks)
      if (booking.decision.retryAfterMs * 1000 > patience) return booking
      const stayed = await unlessLeft(
        ahead.then(() => true),
        onLeave,
      )
      if (!stayed) return undefined
    }
    return await attempt(asks, Math.max(patience - (Date.now() - started) * 1000, 0), onLeave)
  } finally {
    leave()
  }
}

async function attempt(asks: readonly Ask[], patience: Micros, onLeave: OnLeave): Promise<Booking | undefined> {
  const booking = await put('consume', asks, { patience })
  const { allowed, delayMs, retryAfterMs, degraded } = booking.decision
  if (allowed) return delayMs > 0 ? waitForTurn(booking, onLeave) : booking
  const left = patience - retryAfterMs * 1000
  // A bucket would have booked the turn, had there been one: its queue is full, or too long. And without the store no
  // wait is known.
  if (!(left >= 0) || degraded?.action === 'deny' || asks.every(isBucket)) return booking
  if (!(await staysFor(retryAfterMs, onLeave))) return undefined
  // A timer may fire up to a millisecond early; that must not cost the caller its turn.
  return attempt(asks, Math.max(left, 1_000), onLeave)
}

/** Reports, when the time is over or the caller leaves, whether it has stayed. */
function staysFor(millis: number, onLeave: OnLeave): Promise<boolean> {
  return new Promise((resolve) => {
    let forget: (() => void) | undefined
    const end = (stayed: boolean): void => {
      stop()
      forget?.()
      resolve(stayed)
    }
    const stop = later(millis, () => end(true))
    forget = onLeave(() => end(false))
  })
}

const onAbort =
  (signal: Signal | undefined): OnLeave =>
  (leave) => {
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

const linesOf = oncePer((_store: Store) => new Map<string, Promise<void>>())

/** Stands behind the callers in this process that wait for the same states; `ahead` resolves when they have left. */
function standInLine(asks: readonly Ask[]): { ahead: Promise<void> | undefined; leave: () => void } {
  const { store } = (asks[0] as Ask).policy.source
  const known = linesOf(store)
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
