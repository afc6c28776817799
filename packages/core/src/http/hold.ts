import { type Booking, giveBack, put } from '../booking.ts'
import type { Ask } from '../policy.ts'
import { later } from '../sleep.ts'
import type { Micros } from '../time.ts'
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
  if (!allowed || delayMs === 0 || (await stays(reader, request, delayMs))) return booking
  await giveBack(booking)
  return undefined
}

/** Reports, when the time is over or the client is gone, whether the client has stayed. */
function stays<R>(reader: RequestReader<R>, request: R, millis: number): Promise<boolean> {
  return new Promise((resolve) => {
    let forget: (() => void) | undefined
    const end = (stayed: boolean): void => {
      stop()
      forget?.()
      resolve(stayed)
    }
    const stop = later(millis, () => end(true))
    forget = reader.onGone(request, () => end(false))
  })
}
