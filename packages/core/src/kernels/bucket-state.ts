import type { Micros } from '../time.ts'

/**
 * A bucket's state: `tat` alone; with `gross` as long as some refund has moved later takes down; and with what each of both
 * is earlier, unless they are whole microseconds.
 */
export type BucketState = number | RefundedBucket | FractionalBucket

/** The state of a bucket in which a refund has moved later takes down. */
export interface RefundedBucket {
  /** The moment the bucket is full again or later, negative where that is farther ahead than the ceiling. */
  readonly tat: number
  /** What `tat` would be without those refunds: from then on the state is the same as none. */
  readonly gross: Micros
  /** The latest turn of the takes until the last refund; 0 where it is past, or has always been `tat − burst`. */
  readonly turn: Micros
}

/** The state of a bucket that is not full again at a whole microsecond. A step of another `scale` ignores the last two. */
export interface FractionalBucket extends RefundedBucket {
  readonly scale: number
  /** How much earlier than `tat` the bucket is full, in parts of `scale`. */
  readonly early: number
  /** The same of `gross`. */
  readonly grossEarly: number
}
