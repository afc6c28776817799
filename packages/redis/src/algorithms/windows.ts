import { slidingWindowLua } from '../lua/sliding-window.ts'
import type { Algorithm } from './algorithm.ts'

/** The algorithm of `slidingWindow`, `fixedWindow` and `calendarWindow`. */
export const windowAlgorithm: Algorithm<'sliding-window'> = {
  kernel: 'sliding-window',
  lua: slidingWindowLua,
  read: (answer, now, _, reply) => ({
    allowed: answer > 0,
    now,
    start: now + reply.number(),
    current: reply.number(),
    previous: reply.number(),
  }),
}
