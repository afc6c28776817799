import type { PreparedTake } from '../algorithms/takes/prepared-take.ts'
import type { Micros } from '../common/time.ts'
import type { Decide, Decision } from '../decisions/decision.ts'

/** Consumes units of a key. */
export type ConsumeSync<Cost> = (key: string, cost?: Cost) => Decision

/** The most common call: small enough for engines to inline it with all that it calls. */
export const consumeOne =
  <Cost>(
    clock: () => Micros,
    take: PreparedTake,
    decide: Decide,
    consume: ConsumeSync<Cost | number>,
  ): ConsumeSync<Cost | number> =>
  (key, cost = 1) =>
    cost === 1 && typeof key === 'string' && key !== '' ? decide(take.take(key, clock())) : consume(key, cost)
