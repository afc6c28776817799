import { micros, QuotaError, type Store } from '@spillway/core'
import { andThen, checkObject, formatValue, type MaybePromise, maybePromise } from '@spillway/core/internal'
import type { NextFunction, Request, Response } from 'express'
import { addressOf, ipKeyGenerator } from './address.ts'
import { type Checks, checksOf, type Logger, type ValidateOption } from './checks.ts'
import { sendBody } from './send.ts'
import type { AnyExpressRateLimitStore } from './store.ts'

/** A function of the request, synchronous or asynchronous. */
export type FromRequest<T> = (request: Request, response: Response) => T | Promise<T>

/** Answers a denied request. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  options: UsedOptions,
) => unknown

/** The supported revisions of the RateLimit header fields. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'

/** The options of express-rate-limit, as its documentation defines them. */
export interface Options {
  /**
   * The length of a window in milliseconds.
   * @default `60_000`
   */
  windowMs: number
  /**
   * The requests allowed per window; 0 denies all.
   * @default `5`
   */
  limit: number | FromRequest<number>
  /**
   * The body of the answer to a denied request, sent with `res.send`.
   * @default `'Too many requests, please try again later.'`
   */
  // biome-ignore lint/suspicious/noExplicitAny: as in express-rate-limit, whose users pass it to errors of their own
  message: any
  /**
   * The status of that answer.
   * @default `429`
   */
  statusCode: number
  /**
   * Whether to send `X-RateLimit-*`.
   * @default `true`
   */
  legacyHeaders: boolean
  /**
   * Whether to send `RateLimit` fields, and which draft of them; `true` is draft 6.
   * @default `false`
   */
  standardHeaders: boolean | DraftHeadersVersion
  /**
   * The policy's name in the fields of draft 8.
   * @default limit and window, such as `'5-in-1min'`
   */
  identifier: string | FromRequest<string>
  /**
   * The seconds in `Retry-After`.
   * @default the seconds to the end of the window
   */
  retryAfter?: number | FromRequest<number>
  /**
   * The request property that holds the counts.
   * @default `'rateLimit'`
   */
  requestPropertyName: string
  /**
   * Whether failed requests are subtracted from the count when they are over.
   * @default `false`
   */
  skipFailedRequests: boolean
  /**
   * Whether successful requests are subtracted from the count when they are over.
   * @default `false`
   */
  skipSuccessfulRequests: boolean
  /**
   * The client that a request counts for.
   * @default the client's address
   */
  keyGenerator: FromRequest<string>
  /**
   * The leading bits of an IPv6 address that identify one client, 32 to 64; false for all bits.
   * @default `56`
   */
  ipv6Subnet: number | FromRequest<number> | false
  /**
   * Answers a denied request.
   * @default sends `message` with `statusCode`
   */
  handler(request: Request, response: Response, next: NextFunction, options: UsedOptions): unknown
  /**
   * The requests that are allowed without being counted.
   * @default none
   */
  skip: FromRequest<boolean>
  /**
   * The requests that count as successful.
   * @default those with a status below 400
   */
  requestWasSuccessful: FromRequest<boolean>
  /**
   * The store of the counts: one of Spillway, or one of express-rate-limit.
   * @default in memory
   */
  store: Store | AnyExpressRateLimitStore | undefined
  /**
   * The checks for likely mistakes; each failed check is logged once.
   * @default `true`, all checks
   */
  validate: ValidateOption
  /** The former name of `legacyHeaders`. */
  headers?: boolean
  /** The former name of `limit`. */
  max?: number | FromRequest<number>
  /**
   * Whether requests are allowed without being counted while the store fails; otherwise they fail too.
   * @default `false`
   */
  passOnStoreError: boolean
  /**
   * The receiver of errors and warnings.
   * @default the console
   */
  logger: Logger
}

/** The options of a limiter, as its handler gets them. */
export interface UsedOptions extends Options {
  /** The store that counts. */
  store: AnyExpressRateLimitStore
}

// Declared, because a user's project may lack the types of Node.
declare const console: { warn(...args: unknown[]): void; error(...args: unknown[]): void }

const consoleLogger: Logger = {
  warn: (...args) => console.warn(...args.reverse()),
  error: (...args) => console.error(...args.reverse()),
}

/** Adds the defaults. An undefined option counts as missing. */
export function configOf(passed: Partial<Options>): { readonly options: Options; readonly checks: Checks } {
  checkObject('rateLimit', passed)
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined)) as typeof passed
  const logger = checkLogger(given.logger ?? consoleLogger)
  const checks = checksOf(given.validate ?? true, logger)
  const subnet = given.ipv6Subnet === undefined ? {} : { ipv6Subnet: subnetFrom(given.ipv6Subnet) }
  checks.options({ ...given, ...subnet })
  const { standardHeaders = false } = given
  // As text, express-rate-limit appends it to the time: the window never ends.
  const windowMs = micros(numberFrom(given.windowMs ?? 60_000), 'windowMs') / 1000
  const inWindow = windowName(windowMs)
  const options: Options = {
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    legacyHeaders: given.headers ?? true,
    identifier: (request) => `${limitOf(request, options)}-in-${inWindow}`,
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, { statusCode }) => statusCode < 400,
    skip: () => false,
    keyGenerator: (request, response) => {
      checks.address(request)
      const ip = addressOf(request) ?? ''
      if (!ip.includes(':')) return ip
      return andThen(valueFor(options.ipv6Subnet, request, response), (returned) => {
        const subnet = numberFrom(returned)
        checks.ipv6Subnet(subnet)
        return ipKeyGenerator(ip, subnet)
      })
    },
    handler: async (request, response) => {
      response.statusCode = options.statusCode
      const { message } = options
      const body = typeof message === 'function' ? await message(request, response) : message
      if (!response.writableEnded) sendBody(response, body)
    },
    ipv6Subnet: 56,
    passOnStoreError: false,
    store: undefined,
    validate: true,
    logger,
    ...given,
    ...subnet,
    limit: limitFrom(given.limit === undefined ? (given.max ?? 5) : given.limit),
    windowMs,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
  }
  return { options, checks }
}

/** The value of an option for a request, in the same tick if possible: the option itself, or what it returns. */
export const valueFor = <T>(option: T | FromRequest<T>, request: Request, response: Response): MaybePromise<T> =>
  typeof option === 'function' ? maybePromise((option as FromRequest<T>)(request, response)) : option

/** A number that may have been passed as text, such as one from an environment variable. */
const numberFrom = <T>(value: T): T | number =>
  typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value

function limitFrom(value: unknown): Options['limit'] {
  const limit = numberFrom(value)
  if (typeof limit === 'function' || (typeof limit === 'number' && !Number.isNaN(limit)))
    return limit as Options['limit']
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `limit must be a number of requests, or a function that returns it; got ${formatValue(value)}.`,
  )
}

function subnetFrom(value: unknown): Options['ipv6Subnet'] {
  const bits = numberFrom(value)
  const isLength = Number.isInteger(bits) && (bits as number) >= 1 && (bits as number) <= 128
  if (typeof bits === 'function' || bits === false || isLength) return bits as Options['ipv6Subnet']
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `ipv6Subnet must be 1 to 128 bits, false, or a function that returns it; got ${formatValue(value)}.`,
  )
}

/** `1min`: a window in its largest unit. */
function windowName(windowMs: number): string {
  const [seconds, minutes, hours, days] = [1e3, 60e3, 3_600e3, 86_400e3].map((unit) => windowMs / unit) as [
    number,
    number,
    number,
    number,
  ]
  if (seconds < 60) return `${seconds}sec`
  if (minutes < 60) return `${minutes}min`
  return hours < 24 ? `${hours}hr${hours > 1 ? 's' : ''}` : `${days}day${days > 1 ? 's' : ''}`
}

/** The limit of a request that was counted. */
const limitOf = (request: Request, { requestPropertyName }: Options): number =>
  ((request as unknown as Record<string, { limit: number }>)[requestPropertyName] as { limit: number }).limit

function checkLogger(logger: unknown): Logger {
  const { error, warn } = (logger ?? {}) as Partial<Logger>
  if (typeof error === 'function' && typeof warn === 'function') return logger as Logger
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `logger must have the methods error and warn; got ${formatValue(logger)}.`,
  )
}
