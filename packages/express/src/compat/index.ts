import { andThen, calledByHand, hasMethod, type MaybePromise } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Checks } from './checks.ts'
import { type RateLimitInfo, secondsTo, setLegacyFields, setStandardFields, WindowInfo } from './fields.ts'
import { configOf, type Options, valueFor } from './options.ts'
import { type Counted, type ExpressRateLimitStore, isSpillwayStore, promised } from './store.ts'
import { toExpressRateLimitStore } from './to.ts'
import { uncounter } from './uncount.ts'

/** The middleware, with access to its store. */
export interface RateLimitRequestHandler extends RequestHandler {
  /** Resolves when the request has been decided: passed on, or answered. */
  (request: Request, response: Response, next: NextFunction): Promise<void>
  /** Deletes a key's count. */
  resetKey(key: string): Promise<void> | void
  /** A key's count; undefined if it has none. Throws if the store has no `get`. */
  getKey(key: string): Promise<Counted | undefined> | Counted | undefined
}

/**
 * Limits requests with the options of express-rate-limit, as its documentation defines them: a key's window starts with
 * its first request, and denied requests count too.
 *
 * Default store: in memory, at most 100,000 keys.
 */
export function rateLimit(passed: Partial<Options> = {}): RateLimitRequestHandler {
  const { options, checks } = configOf(passed)
  const store = storeOf(options.store)
  checks.store(store, options.store)
  begin(store, options)
  const limit = limiter(store, options, checks)
  const middleware = (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (typeof next !== 'function' || !hasMethod(response, 'setHeader')) {
      throw calledByHand('(req, res, next)', [request, response, next])
    }
    return limit(request, response, next).then(() => {}, next)
  }
  return Object.assign(middleware, {
    resetKey: (key: string) => store.resetKey(key),
    getKey: (key: string) => {
      if (store.get) return store.get(key)
      throw new Error('The store has no get, so the count of a key is unknown.')
    },
  })
}

function storeOf(given: Options['store']): ExpressRateLimitStore {
  if (given === undefined) return toExpressRateLimitStore(memoryStore())
  return isSpillwayStore(given) ? toExpressRateLimitStore(given) : promised(given)
}

/** Not awaited: a store that fails to start fails again on the first count. */
function begin(store: ExpressRateLimitStore, options: Options): void {
  const failed = (error: unknown): void => options.logger.error(error, 'the store failed to begin.')
  try {
    void Promise.resolve(store.init?.(options)).catch(failed)
  } catch (error) {
    failed(error)
  }
}

/** A request in progress, and its configuration. */
interface Exchange {
  readonly request: Request
  readonly response: Response
  readonly options: Options
  readonly checks: Checks
}

function limiter(
  store: ExpressRateLimitStore,
  options: Options,
  checks: Checks,
): (request: Request, response: Response, next: NextFunction) => Promise<unknown> {
  return async (request, response, next) => {
    const uncountLater = uncounter(request, response, options)
    if (await options.skip(request, response)) return next()
    const exchange = { request, response, options, checks }
    const key = await options.keyGenerator(request, response)
    const counted = options.passOnStoreError ? await countOrError(store, key) : await store.increment(key)
    if (counted instanceof Error) {
      options.logger.error(counted, 'the store failed; the request is allowed without being counted.')
      return next()
    }
    checks.counted(request, store, key)
    const info = await infoOf(exchange, key, counted)
    Object.assign(request, { [options.requestPropertyName]: info })
    await setHeaders(exchange, info)
    uncountLater({ store, key, resetTime: info.resetTime })
    if (info.used <= info.limit) return next()
    await setRetryAfter(exchange, info)
    return options.handler(request, response, next, options)
  }
}

/** Counts a request, or returns the error: `passOnStoreError` allows requests while the store fails. */
async function countOrError(store: ExpressRateLimitStore, key: string): Promise<Counted | Error> {
  try {
    return await store.increment(key)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function infoOf(
  { request, response, options, checks }: Exchange,
  key: string,
  { totalHits, resetTime }: Counted,
): MaybePromise<RateLimitInfo> {
  checks.hits(totalHits)
  return andThen(valueFor(options.limit, request, response), (limit) => {
    checks.limit(limit)
    return new WindowInfo(limit, totalHits, resetTime, key)
  })
}

function setHeaders({ request, response, options, checks }: Exchange, info: RateLimitInfo): MaybePromise<void> {
  const { legacyHeaders, standardHeaders, identifier } = options
  if (legacyHeaders) setLegacyFields(response, info)
  if (!standardHeaders) return
  checks.draft(standardHeaders)
  if (standardHeaders !== 'draft-6') checks.reset(info.resetTime)
  const name = standardHeaders === 'draft-8' ? valueFor(identifier, request, response) : ''
  return andThen(name, (known) => setStandardFields(response, info, options, known))
}

async function setRetryAfter({ request, response, options }: Exchange, { resetTime }: RateLimitInfo): Promise<void> {
  const { legacyHeaders, standardHeaders, retryAfter, windowMs } = options
  if ((!legacyHeaders && !standardHeaders) || response.headersSent) return
  const seconds = (await valueFor(retryAfter, request, response)) ?? secondsTo(resetTime, windowMs)
  response.setHeader('Retry-After', String(seconds))
}

export { memoryStore } from '@spillway/memory'
export { ipKeyGenerator } from './address.ts'
export type { Logger, ValidateOption } from './checks.ts'
export { DAY, HOUR, MINUTE, SECOND } from './durations.ts'
export type { AugmentedRequest, RateLimitInfo } from './fields.ts'
export { type FromExpressRateLimitStoreOptions, fromExpressRateLimitStore } from './from.ts'
export { MemoryStore } from './memory-store.ts'
export type {
  DraftHeadersVersion,
  FromRequest,
  FromRequest as ValueDeterminingMiddleware,
  Options,
  RateLimitExceededEventHandler,
} from './options.ts'
export type {
  Counted,
  Counted as ClientRateLimitInfo,
  Counted as IncrementResponse,
  ExpressRateLimitStore,
  ExpressRateLimitStore as Store,
  IncrementCallback,
  LegacyExpressRateLimitStore,
  LegacyExpressRateLimitStore as LegacyStore,
} from './store.ts'
export { type ToExpressRateLimitStoreOptions, toExpressRateLimitStore } from './to.ts'
// biome-ignore lint/style/noDefaultExport: it is how express-rate-limit is imported.
export { rateLimit as default }
