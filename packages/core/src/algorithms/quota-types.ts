import type { Micros } from '../common/time.ts'
import type { RefillSchedule } from '../kernels/refill-schedule.ts'
import type { Calendar } from '../kernels/sliding-window.ts'
import type { Start } from '../kernels/start.ts'
import type { CalendarUnit } from './quota-options.ts'

/** The numbers of a rate limit, built by `perMinute(100)` and its siblings: plain, frozen data. */
export type Quota = BucketQuota | SlidingWindowQuota | SlidingLogQuota | WarmUpQuota | PenaltyQuota | SlotsQuota

/** A quota kept as a bucket. */
export interface BucketQuota {
  readonly kernel: 'bucket'
  /** The most units that can be consumed at once. */
  readonly limit: number
  /** How many of them are allowed without a delay; the others are allowed with a delay, in a queue. */
  readonly immediateUnits: number
  /** The time in which an empty bucket refills, in microseconds. */
  readonly window: Micros
  /** Ticks in which one unit refills; 1 if there is a `schedule`. */
  readonly ticksPerUnit: number
  /** Ticks in a microsecond; 1 if a unit takes whole microseconds, or there is a `schedule`. */
  readonly scale: number
  /** How many units a request may consume beyond an empty bucket. Later requests wait for them to refill. */
  readonly overdraft: number
  /** The refill at intervals; `null` refills continuously. */
  readonly schedule: RefillSchedule | null
  /** The level of a new key; `null` starts full. */
  readonly start: Start | null
}

/** The months, weeks or days of a time zone. */
export interface ZonedPeriods extends Calendar {
  /** The length of a period. */
  readonly unit: CalendarUnit
  /** A name of the IANA database. */
  readonly timeZone: string
  /** The first day of a month, 1 to 31, or of a week, from 1, Monday, to 7, Sunday. */
  readonly firstDay: number
}

/** A quota kept as two counts. */
export interface SlidingWindowQuota {
  readonly kernel: 'sliding-window'
  /** Units in a window. */
  readonly limit: number
  /** The length of a window, in microseconds; of a calendar's longest. */
  readonly window: Micros
  /** The microseconds in whose multiples shares of the window are computed. */
  readonly tick: Micros
  /** Whether all units refill at the window's end: the previous window does not count. */
  readonly fixed: boolean
  /** The calendar whose periods the windows are; `null` if all of them have one length. */
  readonly calendar: ZonedPeriods | null
  /**
   * Added to the clock, at whose multiples of `window` the windows of all keys start, in microseconds; `null` starts them at
   * a key's first request.
   */
  readonly offset: Micros | null
}

/** A quota kept as a log. */
export interface SlidingLogQuota {
  readonly kernel: 'sliding-log'
  /** Units in any window. */
  readonly limit: number
  /** The length of the window, in microseconds. */
  readonly window: Micros
}

/** A quota whose rate rises while it is used. */
export interface WarmUpQuota {
  readonly kernel: 'warm-up'
  /** One unit is allowed at a time. */
  readonly limit: 1
  /** The most units that one request may consume, for the requests after it to wait for. */
  readonly burst: number
  /** The time of one unit when warm, in whole microseconds. */
  readonly window: Micros
  /** Ticks of one unit when warm. */
  readonly ticksPerUnit: number
  /** Ticks in a microsecond. */
  readonly scale: number
  /** Half of the warm-up period, in microseconds. */
  readonly half: Micros
}

/** A quota that blocks a key when it is used up. */
export interface PenaltyQuota {
  readonly kernel: 'penalty'
  /** The units that start a block. */
  readonly limit: number
  /** How long units count, from the first of them, in microseconds. */
  readonly window: Micros
  /** The length of the first block, in microseconds. */
  readonly block: Micros
  /** How many times as long each further block is. */
  readonly grow: number
  /** The longest block, in microseconds. */
  readonly max: Micros
  /** How long after a block the next one is the first again, in microseconds; 0 if all blocks are equal. */
  readonly forgive: Micros
  /** Whether a denied request starts the block again. */
  readonly extend: boolean
}

/** A quota that limits how many units are in use at once. */
export interface SlotsQuota {
  readonly kernel: 'slots'
  /** The most slots that are in use at once. */
  readonly limit: number
  /** How long a slot is held unless its holder renews it, in microseconds. */
  readonly window: Micros
}
