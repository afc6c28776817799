import { warmUpLua } from '../lua/warm-up.ts'
import type { Algorithm } from './algorithm.ts'

/** The algorithm of `warmingUp`. */
export const warmUpAlgorithm: Algorithm<'warm-up'> = {
  kernel: 'warm-up',
  lua: warmUpLua,
  read: (answer, now, _, reply) => ({
    allowed: answer > 0,
    now,
    aheadBefore: reply.number(),
    earlyBefore: reply.number(),
    coldBefore: reply.number(),
    ahead: reply.number(),
    early: reply.number(),
    cold: reply.number(),
  }),
}
