import { micros, QuotaError, type Store, shown } from '@spillway/core'
import type { NextFunction, Request, Response } from 'express'
import { ipKeyGenerator } from './address.ts'
import { type Checks, checksOf, type Logger, type ValidateOption } from './checks.ts'
import type { AnyExpressRateLimitStore } from './store.ts'

/** A function of the request, at once or later. */
export type FromRequest<T> = (request: Request, response: Response) => T | Promise<T>

/** The revisions of the RateLimit header fields that there are here. */
export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8'

/** The options of express-rate-limit, as its documentation has them. */
export interface Options {
  /** How long a window is, in milliseconds; a minute unless given. */
  readonly windowMs: number
  /** Requests of a window that are let through; 5 unless given, none if 0. */
  readonly limit: number | FromRequest<number>
  /** What a refused request is answered with, by `res.send`. */
  readonly message: unknown
  /** The status of that answer; 429 unless given. */
  readonly statusCode: number
  /** Whether to send `X-RateLimit-*`; unless told otherwise, yes. */
  readonly legacyHeaders: boolean
  /** Whether to send `RateLimit` fields, and by which draft; `true` is draft 6. Unless told otherwise, no. */
  readonly standardHeaders: boolean | DraftHeadersVersion
  /** The policy's name in the fields of draft 8; such as `'5-in-1min'` unless given. */
  readonly identifier: string | FromRequest<string>
  /** The seconds in `Retry-After`; those to the window's end unless given. */
  readonly retryAfter?: number | FromRequest<number>
  /** Where requests are told their numbers; `'rateLimit'` unless given. */
  readonly requestPropertyName: string
  /** Whether failed requests are taken off the count when they are over. */
  readonly skipFailedRequests: boolean
  /** Whether successful requests are taken off the count when they are over. */
  readonly skipSuccessfulRequests: boolean
  /** Whom a request counts for; the client's address unless given. */
  readonly keyGenerator: FromRequest<string>
  /** How many leading bits of an IPv6 address make one client; 56 unless given, all if false. */
  readonly ipv6Subnet: number | FromRequest<number> | false
  /** Answers a refused request. */
  handler(request: Request, response: Response, next: NextFunction, options: Options): unknown
  /** Which requests are let through uncounted. */
  readonly skip: FromRequest<boolean>
  /** Which requests were successful; those with a status below 400 unless given. */
  readonly requestWasSuccessful: FromRequest<boolean>
  /** Where the counts live: a store of Spillway, or one of express-rate-limit; in memory unless given. */
  readonly store: Store | AnyExpressRateLimitStore | undefined
  /** Which likely mistakes are told to the logger, once each. */
  readonly validate: ValidateOption
  /** The former name of `legacyHeaders`. */
  readonly headers?: boolean
  /** The former name of `limit`. */
  readonly max?: number | FromRequest<number>
  /** Whether requests are let through while the store fails; unless told otherwise, they fail too. */
  readonly passOnStoreError: boolean
  /** Hears of errors and mistakes; the console unless given. */
  readonly logger: Logger
}

// Declared, because the types of the user's Node may be absent.
declare const console: { warn(...args: unknown[]): void; error(...args: unknown[]): void }

const consoleLogger: Logger = {
  warn: (...args) => console.warn(...args.reverse()),
  error: (...args) => console.error(...args.reverse()),
}

/** Fills in what is not given; an option that is undefined is not given. */
export function configOf(passed: Partial<Options>): { readonly options: Options; readonly checks: Checks } {
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined)) as typeof passed
  const logger = checkLogger(given.logger ?? consoleLogger)
  const checks = checksOf(given.validate ?? true, logger)
  checks.options(given)
  const { standardHeaders = false } = given
  const options: Options = {
    windowMs: 60_000,
    limit: given.max ?? 5,
    message: 'Too many requests, please try again later.',
    statusCode: 429,
    legacyHeaders: given.headers ?? true,
    identifier: (request) => nameOf(request, options),
    requestPropertyName: 'rateLimit',
    skipFailedRequests: false,
    skipSuccessfulRequests: false,
    requestWasSuccessful: (_request, { statusCode }) => statusCode < 400,
    skip: () => false,
    keyGenerator: async (request, response) => {
      checks.address(request)
      const { ipv6Subnet } = options
      const subnet = typeof ipv6Subnet === 'function' ? await ipv6Subnet(request, response) : ipv6Subnet
      checks.ipv6Subnet(subnet)
      return ipKeyGenerator(request.ip ?? '', subnet)
    },
    ipv6Subnet: 56,
    handler: async (request, response) => {
      response.status(options.statusCode)
      const { message } = options
      const body = typeof message === 'function' ? await message(request, response) : message
      if (!response.writableEnded) response.send(body)
    },
    passOnStoreError: false,
    store: undefined,
    validate: true,
    logger,
    ...given,
    standardHeaders: standardHeaders === true ? 'draft-6' : standardHeaders,
  }
  micros(options.windowMs, 'windowMs')
  return { options, checks }
}

/** `5-in-1min`: the limit, and the window in the largest unit that it fills. */
function nameOf(request: Request, { windowMs, requestPropertyName }: Options): string {
  const { limit } = (request as unknown as Record<string, { limit: number }>)[requestPropertyName] as { limit: number }
  const [seconds, minutes, hours, days] = [1e3, 60e3, 3_600e3, 86_400e3].map((unit) => windowMs / unit) as [
    number,
    number,
    number,
    number,
  ]
  if (seconds < 60) return `${limit}-in-${seconds}sec`
  if (minutes < 60) return `${limit}-in-${minutes}min`
  return hours < 24 ? `${limit}-in-${hours}hr${hours > 1 ? 's' : ''}` : `${limit}-in-${days}day${days > 1 ? 's' : ''}`
}

function checkLogger(logger: unknown): Logger {
  const { error, warn } = (logger ?? {}) as Partial<Logger>
  if (typeof error === 'function' && typeof warn === 'function') return logger as Logger
  throw new QuotaError('ERR_SPILLWAY_OPTION', `logger must have the methods error and warn; got ${shown(logger)}.`)
}
