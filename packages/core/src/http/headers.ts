/** A header as the adapters set it. */
export type Header = readonly [name: string, value: string]

/** A header's value where another limiter has set it already: the drafts' lists are joined, others replaced. */
export const joined = (before: unknown, [name, value]: Header): string =>
  typeof before === 'string' && isList(name, value) ? `${before}, ${value}` : value

// Draft 7 has a dictionary in RateLimit, which can tell of one policy only.
const isList = (name: string, value: string): boolean =>
  name === 'RateLimit-Policy' || (name === 'RateLimit' && value.startsWith('"'))

/** Whole seconds, rounded up: a client that waits as long as it is told is never early. */
export const seconds = (millis: number): number => Math.ceil(millis / 1000)
