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
export const withAnchor = (message: string, code: ErrorCode): string =>
  `${message} [docs/errors.md#${code.toLowerCase()}]`

/** A limiter, quota or call written wrongly: a mistake in the program, never a property of a request. */
export class QuotaError extends RangeError {
  /** The name of the class. */
  override readonly name = 'QuotaError'
  /** What kind of mistake it is, and its section of `docs/errors.md`. */
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(withAnchor(message, code))
    this.code = code
  }
}

/**
 * Why there was no answer: the store failed; it took too long; the client had no free connection for the call; or the
 * circuit was open, so that the store was not asked.
 */
export type StoreFailure = 'error' | 'timeout' | 'pool' | 'open'

/** The store itself failed: unreachable, too slow, out of memory. `cause` holds what it said. */
export class StoreError extends Error {
  /** The name of the class. */
  override readonly name = 'StoreError'
  /** Its section of `docs/errors.md`. */
  readonly code: ErrorCode = 'ERR_SPILLWAY_STORE'
  /** Why there was no answer. */
  readonly reason: StoreFailure
  /**
   * After a timeout: what the store answers in the end, undefined where it fails. It never rejects. A timeout without it
   * says that nothing was sent.
   */
  readonly late: Promise<unknown> | undefined
  /** The store is well and has refused this call alone, so that the failure does not open its circuit. */
  readonly healthy: boolean

  constructor(
    message: string,
    cause?: unknown,
    { reason = 'error', late, healthy = false }: Pick<Partial<StoreError>, 'reason' | 'late' | 'healthy'> = {},
  ) {
    super(withAnchor(message, 'ERR_SPILLWAY_STORE'), { cause })
    this.reason = reason
    this.late = late
    this.healthy = healthy
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
