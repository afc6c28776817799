import { type Duration, type Logger, QuotaError, type RateLimiter } from '@spillway/core'
import { checkLogger, checkObject, checkOptions, formatValue, hasMethod } from '@spillway/core/internal'

/** What an administrator does, reported before it is done. */
export interface AuditEvent {
  /** What is done to the key. */
  readonly action: 'reset' | 'block' | 'unblock'
  /** How long the key is blocked. Only of `'block'`. */
  readonly duration?: Duration
  /** The policies of the limiter, for which it is done. */
  readonly policies: readonly string[]
  /** The key, not masked. */
  readonly key: string
  /** The request, which `authorize` has accepted. */
  readonly request: Request
}

/** The part of a shedder that is shown. */
export interface ShownShedder {
  /** What it knows now. */
  stats(): {
    readonly limit: number
    readonly inFlight: number
    readonly queued: number
    /** How many calls were dropped, by reason. */
    readonly dropped: Readonly<Record<string, number>>
  }
}

/** Options of `adminHandler`. */
export interface AdminOptions {
  /** The limiters, with the names, quotas and stores of those in force. Their policies' names must differ. */
  readonly limiters: readonly RateLimiter[]
  /** Whether a request may use the handler. Only `true`, or a promise of it, accepts; an error denies. */
  readonly authorize: (request: Request) => boolean | PromiseLike<boolean>
  /**
   * Shedders of `@spillway/shed` by their names: the page shows their limits, what is in flight and queued, and why calls were dropped.
   * @default none
   */
  readonly shedders?: Readonly<Record<string, ShownShedder>>
  /**
   * Called and awaited before a key is reset, blocked or unblocked. If it throws or rejects, nothing is changed.
   * @default none
   */
  readonly audit?: (event: AuditEvent) => unknown
  /**
   * Returns how a key is shown.
   * @default the first and the last two characters; nothing of a key with less than 8
   */
  readonly mask?: (key: string) => string | PromiseLike<string>
  /**
   * A secret of 16 characters or more, the same in all processes that answer requests of one page.
   * @default random, for one process
   */
  readonly secret?: string
  /**
   * Where failures are logged, without keys.
   * @default `console`
   */
  readonly logger?: Logger
  /**
   * Returns the time in milliseconds since 1970, for tests.
   * @default `Date.now`
   */
  readonly clock?: () => number
}

const OPTIONS = ['limiters', 'shedders', 'authorize', 'audit', 'mask', 'secret', 'logger', 'clock']

/** The options with their defaults, and the limiter of each policy. */
interface CheckedOptions extends Pick<AdminOptions, 'limiters' | 'authorize'> {
  readonly byPolicy: ReadonlyMap<string, RateLimiter>
  readonly shedders: readonly (readonly [name: string, shedder: ShownShedder])[]
  readonly audit: AdminOptions['audit']
  readonly mask: NonNullable<AdminOptions['mask']>
  readonly secret: string | undefined
  readonly logger: Logger
  readonly clock: () => number
}

const invalid = (message: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', `adminHandler: ${message}`)

/** Checks the options. Throws a `QuotaError` if one is invalid. */
export function checkedOptions(options: AdminOptions): CheckedOptions {
  checkOptions('adminHandler', options, OPTIONS)
  const { limiters, shedders = {}, authorize, audit, mask = masked, secret, clock = Date.now } = options
  if (typeof authorize !== 'function') {
    throw invalid(
      `authorize must be a function that returns true for administrators, (request) => isAdmin(request); got ${formatValue(authorize)}.`,
    )
  }
  for (const [name, value] of Object.entries({ audit, mask, clock })) {
    if (value !== undefined && typeof value !== 'function') {
      throw invalid(`${name} must be a function; got ${formatValue(value)}.`)
    }
  }
  if ('secret' in options && (typeof secret !== 'string' || secret.length < 16)) {
    throw invalid('secret must be text of 16 characters or more: is its environment variable set?')
  }
  checkObject('shedders of adminHandler', shedders)
  for (const each of Object.values(shedders)) {
    if (!hasMethod(each, 'stats'))
      throw invalid(`shedders must be made by shedder({ … }), { api: overload }; got ${formatValue(each)}.`)
  }
  const byPolicy = limitersByPolicy(limiters)
  const logger = checkLogger(options.logger)
  return {
    limiters,
    byPolicy,
    shedders: Object.entries(shedders),
    authorize,
    audit,
    mask,
    secret,
    logger,
    clock: () => timeOf(clock()),
  }
}

/** Throws if it is no number: no denial would be counted. */
function timeOf(now: unknown): number {
  if (typeof now === 'number' && Number.isFinite(now)) return now
  throw invalid(`clock must return milliseconds since 1970, such as Date.now(); it returned ${formatValue(now)}.`)
}

function limitersByPolicy(limiters: unknown): ReadonlyMap<string, RateLimiter> {
  if (!Array.isArray(limiters) || limiters.length === 0)
    throw invalid('limiters must be a list of one limiter or more.')
  const byPolicy = new Map<string, RateLimiter>()
  for (const limiter of limiters as readonly Partial<RateLimiter>[]) {
    if (!Array.isArray(limiter?.policies))
      throw invalid(`limiters must be built by rateLimiter; got ${formatValue(limiter)}.`)
    for (const { name } of (limiter as RateLimiter).policies) {
      if (byPolicy.has(name)) throw invalid(`two policies are named ${formatValue(name)}.`)
      byPolicy.set(name, limiter as RateLimiter)
    }
  }
  return byPolicy
}

const masked = (key: string): string => (key.length < 8 ? '••••' : `${key.slice(0, 2)}…${key.slice(-2)}`)
