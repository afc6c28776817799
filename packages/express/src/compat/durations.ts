// The durations that express-rate-limit exports, in milliseconds.

/** The milliseconds of a second. */
export const SECOND = 1_000
/** The milliseconds of a minute. */
export const MINUTE: number = 60 * SECOND
/** The milliseconds of an hour. */
export const HOUR: number = 60 * MINUTE
/** The milliseconds of a day. */
export const DAY: number = 24 * HOUR
