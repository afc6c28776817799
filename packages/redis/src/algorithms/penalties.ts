import { penaltyLua } from '../lua/penalty.ts'
import type { Algorithm } from './algorithm.ts'

/** The algorithm of `penalty`, and of block lists. */
export const penaltyAlgorithm: Algorithm<'penalty'> = {
  kernel: 'penalty',
  lua: penaltyLua,
  read(answer, now, _, reply) {
    const [first, count, left, level, since] = [
      now + reply.number(),
      reply.number(),
      reply.number(),
      reply.number(),
      reply.number(),
    ]
    const [until, last] = [left > 0 ? now + left : 0, level > 0 ? now - since : 0]
    return { allowed: answer > 0, now, first, count, until, level, last }
  },
}
