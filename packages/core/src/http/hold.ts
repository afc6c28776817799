import { type Booking, put } from '../booking.ts'
import type { Ask } from '../policy.ts'
import type { Micros } from '../time.ts'
import { waitForTurn } from '../turns.ts'
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
  const booking = await put('consume', asks, patience > 0 ? { patience } : {})
  const { allowed, delayMs } = booking.decision
  if (!allowed || delayMs === 0) return booking
  return waitForTurn(booking, (leave) => reader.onGone(request, leave))
}
