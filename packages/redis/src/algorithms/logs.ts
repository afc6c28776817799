import { slidingLogLua } from '../lua/sliding-log.ts'
import type { Algorithm } from './algorithm.ts'

/** The algorithm of `slidingLog`. */
export const logAlgorithm: Algorithm<'sliding-log'> = {
  kernel: 'sliding-log',
  lua: slidingLogLua,
  read: (answer, now, _, reply) => ({
    allowed: answer > 0,
    now,
    used: reply.number(),
    fitsAt: now + reply.number(),
    freesAt: now + reply.number(),
    emptyAt: now + reply.number(),
  }),
}
