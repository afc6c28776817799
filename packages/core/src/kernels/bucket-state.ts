import type { Micros } from '../common/time.ts'

/**
 * A bucket's state: `tat` alone by default. It has `gross`, too, as long as a refund has moved later takes down, and parts of
 * a microsecond if the two are not whole microseconds.
 */
export type BucketState = number | RefundedBucket | FractionalBucket

/** The state of a bucket in which a refund has moved later takes down. */
export interface RefundedBucket {
  /**
   * The theoretical arrival time: when the bucket is full again, or later. Negative if it is farther ahead than the
   * ceiling.
   */
  readonly tat: number
  /** What `tat` would be without those refunds: from then on the bucket is full. */
  readonly gross: Micros
  /** The latest turn of the takes until the last refund; 0 if it is past, or has always been `tat − burst`. */
  readonly turn: Micros
}

/**
 * The state of a bucket that is not full again at a whole microsecond. A step of another `scale` ignores `early` and
 * `grossEarly`.
 */
export interface FractionalBucket extends RefundedBucket {
  readonly scale: number
  /** How much earlier than `tat` the bucket is full, in parts of `scale`. */
  readonly early: number
  /** The same of `gross`. */
  readonly grossEarly: number
}
