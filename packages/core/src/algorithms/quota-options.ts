import type { Duration } from '../common/time.ts'

/** Options of `perSecond` and its siblings. */
export interface RateOptions {
  /**
   * The most units that can be consumed at once. `1` paces requests evenly.
   * @default the `limit`
   */
  readonly burst?: number
}

/** Options of `tokenBucket`: `limit` units refill per `per`. */
export interface TokenBucketOptions extends RateOptions {
  /** Units that refill in each `per`: a whole number. 0 denies all requests, whatever the `burst`. */
  readonly limit: number
  /** The time in which `limit` units refill. */
  readonly per: Duration
  /**
   * `'continuous'` refills unit by unit; a duration refills whole amounts at its intervals.
   * @default `'continuous'`
   */
  readonly refill?: 'continuous' | Duration
  /**
   * Units by which one request may overdraw the bucket. Later requests wait until they are refilled.
   * @default `0`
   */
  readonly overdraft?: number
  /**
   * Units that a new key starts with: 0 or more, less than `burst`.
   *
   * @default the `burst`
   */
  readonly initial?: number
  /**
   * How long a bucket with `initial` stays known after it is full. Later its key is new, and starts with `initial` again.
   *
   * @default `'1d'`
   */
  readonly keepFull?: Duration
}

/** Options of `fixedWindow`: `limit` units in each `window`. */
export interface FixedWindowOptions {
  /** Units in each window: a whole number. 0 denies all requests. */
  readonly limit: number
  /** The length of each window. */
  readonly window: Duration
  /**
   * When windows start: `'clock'`, at multiples of `window` since 1970 UTC, the same for all keys; `'first'`, at the key's
   * first request after its last window.
   * @default `'clock'`
   */
  readonly align?: 'clock' | 'first'
  /**
   * Shifts the windows of the clock.
   * @default `0`
   */
  readonly offset?: Duration
}

/** Options of `perMonth`. */
export interface PeriodOptions {
  /**
   * The first day of a period. Of a month, from 1 to 31, or its last day if it is shorter, as of a subscription that began
   * on the 31st; of a week, from 1, Monday, to 7, Sunday. Invalid for days.
   * @default `1`
   */
  readonly firstDay?: number | undefined
  /**
   * The time zone whose midnight ends a period: a name of the IANA database, such as `'Europe/Berlin'`.
   * @default `'UTC'`
   */
  readonly timeZone?: string | undefined
}

/** The periods of a calendar. */
export type CalendarUnit = 'month' | 'week' | 'day'

/** Options of `calendarWindow`: `limit` units in each month, week or day. */
export interface CalendarWindowOptions extends PeriodOptions {
  /** Units in each period: a whole number. 0 denies all requests. */
  readonly limit: number
  /** `'month'` or `'week'`, from its `firstDay`; or `'day'`, from midnight. */
  readonly unit: CalendarUnit
}

/** Options of `slidingWindow` and `slidingLog`: `limit` units in any `window`. */
export interface WindowOptions {
  /** Units in any window: a whole number. 0 denies all requests. */
  readonly limit: number
  /** The length of the window. */
  readonly window: Duration
}

/** Options of `leakyBucket`: `limit` units leave per `per`. */
export interface LeakyBucketOptions {
  /** Units that leave the queue in each `per`, evenly spaced: a whole number. 0 denies all requests. */
  readonly limit: number
  /** The time in which `limit` units leave. */
  readonly per: Duration
  /** How many units can wait. Requests beyond it are denied. */
  readonly queue: number
}

/** Options of `warmingUp`: `limit` units per `per`, once it is warm. */
export interface WarmingUpOptions {
  /** Units in each `per` when warm: a whole number. */
  readonly limit: number
  /** The time of `limit` units when warm. */
  readonly per: Duration
  /**
   * The time in which a cold key gets to the full rate, if it is used as much as it allows. A key that is idle for as
   * long is cold again. 2 hours at most.
   */
  readonly warmUpPeriod: Duration
  /**
   * The most units that one request may consume. It does not wait for them: the requests after it do.
   * @default the `limit`
   */
  readonly burst?: number
}

/** Options of `penalty`: after `after` units `within` a time, the key is blocked. */
export interface PenaltyOptions {
  /** The units that start a block: a whole number, 1 to 1,000,000,000. The last of them is allowed. */
  readonly after: number
  /** How long units count, from the first of them. */
  readonly within: Duration
  /** How long the key is denied. Then its units count from 0. */
  readonly block: Duration
  /**
   * How many times as long as the block before it the next block is: a whole number, 1 to 1,000.
   * @default `1`, all blocks are equal
   */
  readonly grow?: number
  /**
   * The longest block: `block` or longer. Required with `grow`, and invalid without it.
   * @default the `block`
   */
  readonly max?: Duration
  /**
   * How long after the end of its last block a key's next block has the first length again. Invalid without `grow`.
   * @default the `max`
   */
  readonly forgive?: Duration
  /**
   * Whether a request during a block starts the block again. By default, it changes nothing.
   * @default `false`
   */
  readonly extend?: boolean
}
