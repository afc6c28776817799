import type { Micros } from '../common/time.ts'
import type { Taken } from '../kernels/kernel.ts'

/** The operations on a quota; each is the same kernel step with other arguments. */
export type Verb = 'consume' | 'peek' | 'refund' | 'charge'

/** Options of a verb. */
export interface StepOptions {
  /**
   * The longest wait for the units, in microseconds; not for windows and logs.
   * @default no wait; in a queue, the length of the queue
   */
  readonly maxWaitMicros?: Micros
  /**
   * The take that is refunded. The refund excludes units that have refilled since, and units that later takes depend on. A
   * take is refunded at most once.
   * @default the latest take
   */
  readonly original?: Taken
  /**
   * Whether the overdraft is not used.
   * @default `false`
   */
  readonly prepaid?: boolean
  /**
   * The length of the block that a charge starts by hand, in microseconds; for a penalty only. Of a refund, any number: it
   * ends a block.
   * @default the length that its quota sets
   */
  readonly blockMicros?: Micros | undefined
}
