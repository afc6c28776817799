import type { Micros } from '../common/time.ts'
import type { BucketState } from './bucket-state.ts'
import type { Fraction } from './fraction.ts'
import type { RefillSchedule } from './refill-schedule.ts'
import type { Start } from './start.ts'

/**
 * The bucket kernel: GCRA (the generic cell rate algorithm), one step for every quota that refills at a steady rate.
 *
 * The state of a key is one integer, `tat`: the theoretical arrival time (TAT) of GCRA, at which the bucket is full again. A
 * key without a state is full. A take moves `tat` into the future.
 * Token bucket, pacing, leaky bucket, debt, interval refill and fixed windows are this step with other arguments.
 *
 * A take of `k` ticks owns the interval `[tat, tat + k]` of the tick line, and its turn comes when the end of that interval
 * is `burst` ahead of now. The invariant: no two takes own the same tick, and each interval lies between its turn and
 * `burst` ticks after it. Hence in any span of time `t` at most `burst + t` ticks have their turn.
 *
 * A refund removes a take's interval and moves the takes behind it down, `tat` with them. It returns
 *
 *     end    = where the take's interval ends now
 *     floor  = now for the last take, else max(now, the latest turn)
 *     return = min(ticks refunded, end − floor), 0 at least
 *
 * because the bucket has refilled what lies below now, and no take may come to lie before its turn. A state without
 * refunds has both numbers: the last take ends at `tat`, and has its turn at `tat − burst`. After a refund of another take
 * than the last, the state has two more numbers: `gross` is what `tat` would be if no take had been moved down, and
 * `turn` is the latest turn. `gross` after a take identifies the take, which ends at that less `gross − tat`. A refund of the
 * last take lowers both: a take and its refund leave the state as it was. Once now has passed `gross`, the bucket is full.
 *
 * If the exact number is not known, the refund returns less, never more: a refund of a later take counts as one of an earlier,
 * but no take ends before its turn and its ticks; a debt counts as if it had a turn; after a clock has stepped back by more
 * than the bucket holds, takes from before return nothing. Takes of a reset or evicted state return nothing, either, until
 * the new state has taken as much: then they cannot be distinguished from its own.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, with the same arithmetic. The conformance suite compares their results.
 */
export interface BucketStep {
  readonly kernel: 'bucket'
  /** Ticks the take adds to `tat`; negative refunds. A tick is a microsecond; with a `schedule`, a unit. */
  readonly increment: number
  /** Ticks that must fit for the take to be allowed: `increment`, or less if the quota has an overdraft. */
  readonly check: number
  /** How many ticks ahead of now `tat` may be pushed: the size of the bucket. */
  readonly tolerance: number
  /** How many ticks ahead of now a valid `tat` can be; one farther ahead was written before the clock stepped back. */
  readonly ceiling: number
  /** Ticks without a delay: a take's turn comes when `tat` after it is no farther ahead of now. */
  readonly burst: number
  /** How long the caller waits for the units at most, in microseconds. */
  readonly maxWaitMicros: Micros
  /** The take that is refunded, by its `gross`; `Number.MAX_SAFE_INTEGER` if that is not known. */
  readonly until: number
  /** The tick at which the refunded take ends at the earliest: its turn and its ticks. */
  readonly ends: number
  /** Whether all ticks of the take are refunded. */
  readonly whole: boolean
  /** The refill at intervals; `null` refills continuously. */
  readonly schedule: RefillSchedule | null
  /** The level of a new key; `null` starts full. */
  readonly start: Start | null
  /** The parts of a microsecond of the ticks above; `null` if a unit takes whole microseconds. */
  readonly fraction: Fraction | null
  /** Whether nothing is consumed or written. */
  readonly peek: boolean
}

/** The result of the kernel: whether the step fits, and the state to store in either case. */
export interface BucketOutcome {
  readonly allowed: boolean
  readonly base: number
  /** The tick `tat` if taken. */
  readonly next: number
  /** The tick `gross` if taken. */
  readonly grossNext: number
  /** How much earlier the three are, in parts of the step's `scale`. */
  readonly early: { readonly base: number; readonly tat: number; readonly gross: number }
  /** The state to store if taken. */
  readonly taken: BucketState | undefined
  /** The state to store if not: the same, unless the clock has stepped back past it. */
  readonly kept: BucketState | undefined
}
