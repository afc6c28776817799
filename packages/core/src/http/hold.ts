import { type Booking, put } from '../booking.ts'
import type { Ask } from '../policy.ts'
import type { Micros } from '../time.ts'
import { waitForTurn } from '../turns.ts'
import { bookTurn } from '../wait.ts'
import type { RequestReader } from './reader.ts'

/**
 * Delays a request until its units are available, or denies it if that takes longer than the maximum wait. If the
 * client disconnects first, the request leaves the queue, its units are refunded, and the result is undefined.
 */
export async function hold<R>(
  asks: readonly Ask[],
  patience: Micros,
  reader: RequestReader<R>,
  request: R,
): Promise<Booking | undefined> {
  const onLeave = (leave: () => void): (() => void) => reader.onGone(request, leave)
  if (patience > 0) return bookTurn(asks, patience, onLeave)
  const booking = await put('consume', asks)
  const { allowed, delayMs } = booking.decision
  return allowed && delayMs > 0 ? waitForTurn(booking, onLeave) : booking
}
