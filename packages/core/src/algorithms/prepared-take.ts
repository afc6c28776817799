import type { Micros } from '../common/time.ts'
import type { Taken } from '../kernels/kernel.ts'
import type { Decide, Decision } from './decision.ts'

/**
 * A step on the states of one policy, prepared for many keys, so that a take of most states allocates nothing. A batch is
 * taken by `look` on each of its prepared takes, and then `commit` on each. A prepared take has one key at a time, and a batch
 * has only one of a policy: the commit of another could evict the state that this one has found.
 */
export interface PreparedTake {
  /** Reads the state of a key, and reports whether the step fits. Writes nothing. */
  look(key: string, at: Micros): boolean
  /**
   * Ends the take that `look` began, with the same result as `takeSync`: `allowed` is whether all steps of the batch fit. The
   * next `commit` may overwrite the result: copy it to keep it.
   */
  commit(allowed: boolean): Taken
  /** Both for a batch of its own: `commit(look(key, at))`. */
  take(key: string, at: Micros): Taken
  /**
   * Returns what consumes the units of the step for one key after another: `decide(take(key, clock()))`, or `other` if the key
   * is no text or empty, or the cost is not 1. Each algorithm has code of its own for it: engines do not inline a call that has
   * called several functions.
   * @default none, `other` consumes all
   */
  readonly consumer?: <Cost>(
    clock: () => Micros,
    decide: Decide,
    other: (key: string, cost?: Cost | number) => Decision,
  ) => (key: string, cost?: Cost | number) => Decision
}
