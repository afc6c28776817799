/** Seconds in milliseconds. */
export const seconds = (howMany: number): number => howMany * 1_000

/** Minutes in milliseconds. */
export const minutes = (howMany: number): number => howMany * seconds(60)

/** Hours in milliseconds. */
export const hours = (howMany: number): number => howMany * minutes(60)

/** Days in milliseconds. */
export const days = (howMany: number): number => howMany * hours(24)

/** Weeks in milliseconds. */
export const weeks = (howMany: number): number => howMany * days(7)
