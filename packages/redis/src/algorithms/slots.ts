import { slotsLua } from '../lua/slots.ts'
import type { Algorithm } from './algorithm.ts'

/** The algorithm of `inFlight`. */
export const slotsAlgorithm: Algorithm<'slots'> = {
  kernel: 'slots',
  lua: slotsLua,
  read: (answer, now, _, reply) => ({ allowed: answer > 0, now, used: reply.number(), id: reply.number() }),
}
