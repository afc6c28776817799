import { type Booking, put } from '../booking.ts'
import type { Ask } from '../policy.ts'
import type { Micros } from '../time.ts'
import { waitForTurn } from '../turns.ts'
import { bookTurn } from '../wait.ts'
import type { RequestReader } from './reader.ts'

/**
 * Holds a request back until its turn, or refuses it where that is farther off than `patience`. Where the client goes
 * away first, the request leaves the queue and its units go back: undefined.
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
