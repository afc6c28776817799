import type { Decision } from './decision.ts'

/**
 * The stable names of everything that can go wrong; each is a section of `docs/errors.md`.
 */
export type ErrorCode =
  | 'ERR_SPILLWAY_QUOTA'
  | 'ERR_SPILLWAY_DURATION'
  | 'ERR_SPILLWAY_COST'
  | 'ERR_SPILLWAY_KEY'
  | 'ERR_SPILLWAY_OPTION'
  | 'ERR_SPILLWAY_STORE'
  | 'ERR_SPILLWAY_RATE_LIMITED'

/** A message and where to read more: what was wrong and what to write instead come first, the anchor last. */
const withAnchor = (message: string, code: ErrorCode): string => `${message} [docs/errors.md#${code.toLowerCase()}]`

/** A limiter, quota or call written wrongly: a mistake in the program, never a property of a request. */
export class QuotaError extends RangeError {
  override readonly name = 'QuotaError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(withAnchor(message, code))
    this.code = code
  }
}

/** The store itself failed: unreachable, too slow, out of memory. `cause` holds what it said. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: ErrorCode = 'ERR_SPILLWAY_STORE'

  constructor(message: string, cause: unknown) {
    super(withAnchor(message, 'ERR_SPILLWAY_STORE'), { cause })
  }
}

/** `wait` was refused: the wait would be longer than the caller has patience for, or no wait is long enough. */
export class RateLimitedError extends Error {
  override readonly name = 'RateLimitedError'
  readonly code: ErrorCode = 'ERR_SPILLWAY_RATE_LIMITED'
  /** The refusal: `retryAfterMs` tells how long the wait would have been. */
  readonly decision: Decision

  constructor(decision: Decision) {
    const { policy, retryAfterMs, cost } = decision
    const why =
      retryAfterMs === Infinity
        ? `${cost} units are more than policy "${policy}" ever allows at once`
        : `policy "${policy}" allows ${cost} units in ${retryAfterMs} ms, longer than maxWait`
    super(withAnchor(`Not waiting: ${why}.`, 'ERR_SPILLWAY_RATE_LIMITED'))
    this.decision = decision
  }
}

/** Renders any value for an error message: short, on one line, and never throwing. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (value === null || typeof value !== 'object') return String(value)
  return Array.isArray(value) ? 'an array' : 'an object'
}
