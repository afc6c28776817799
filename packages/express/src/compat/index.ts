import { failRequest, release, responseTo } from '@spillway/core/http'
import { andThen, calledByHand, formatValue, inTime, type MaybePromise, maybePromise } from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Checks } from './checks.ts'
import { type RateLimitInfo, secondsTo, setLegacyFields, standardFieldsSetter, WindowInfo } from './fields.ts'
import { configOf, type Options, type UsedOptions, valueFor } from './options.ts'
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
  const { options: given, checks } = configOf(passed)
  const store = storeOf(given.store)
  checks.store(store, given.store)
  // A handler may use the store, such as to reset the key that it denies.
  const options = { ...given, store }
  begin(store, options)
  const limit = limiter(store, options, checks)
  const report = (error: unknown): void =>
    options.logger.error(error, 'the limiter failed, and next did not handle it.')
  const middleware = (request: Request, passed: Response, next: NextFunction): Promise<void> => {
    const isCalled = typeof next === 'function' && typeof request === 'object' && request !== null
    const made = isCalled ? responseTo(request, passed) : undefined
    if (made === undefined) throw calledByHand('(req, res, next)', [request, passed, next])
    const response = made as Response
    let allowed = false
    const allow = (): void => {
      allowed = true
      if (response !== passed) release(response)
      next()
    }
    const failed = (error: unknown): void => {
      // What `next` throws is not the limiter's error: it must not call `next` again.
      if (allowed) throw error
      // To `next`, nothing is no error: the request would pass on.
      failRequest(error || new Error(`the store failed with ${formatValue(error)}.`), request, response, next, report)
    }
    try {
      const ended = limit(request, response, allow)
      return ended instanceof Promise ? ended.then(nothing, failed) : DONE
    } catch (error) {
      return Promise.reject(error).then(nothing, failed)
    }
  }
  return Object.assign(middleware, {
    resetKey: (key: string) => store.resetKey(key),
    getKey: (key: string) => {
      if (store.get) return store.get(key)
      throw new Error('The store has no get, so the count of a key is unknown.')
    },
  })
}

const nothing = (): void => {}
const DONE = /* @__PURE__ */ Promise.resolve()

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

/** Everything is done in the same tick, unless a function of the options or the store returns a promise. */
function limiter(
  store: ExpressRateLimitStore,
  options: UsedOptions,
  checks: Checks,
): (request: Request, response: Response, next: NextFunction) => unknown {
  const counting = inTime('increment of the store')
  const incremented = (key: string): MaybePromise<Counted> => andThen(counting(store.increment(key)), checkCounted)
  const count = options.passOnStoreError ? orError(incremented) : incremented
  const setHeaders = headerSetter(options, checks)
  return (request, response, next) => {
    const uncountLater = uncounter(request, response, options)
    const answer = (info: RateLimitInfo): unknown => {
      uncountLater({ store, key: info.key, resetTime: info.resetTime })
      // Not `<=`: a limit or a count that is not a number denies no client, as in express-rate-limit.
      if (!(info.used > info.limit)) return pass(next)
      return andThen(setRetryAfter(request, response, options, info), () =>
        options.handler(request, response, next, options),
      )
    }
    const follow = (key: string, counted: Counted | Error): unknown => {
      if (counted instanceof Error) {
        options.logger.error(counted, 'the store failed; the request is allowed without being counted.')
        return pass(next)
      }
      checks.counted(request, store, key)
      checks.hits(counted.totalHits)
      return andThen(valueFor(options.limit, request, response), (limit) => {
        checks.limit(limit)
        const info = new WindowInfo(limit, counted.totalHits, counted.resetTime, key)
        ;(request as unknown as Record<string, RateLimitInfo>)[options.requestPropertyName] = info
        return andThen(setHeaders(request, response, info), () => answer(info))
      })
    }
    return andThen(maybePromise(options.skip(request, response)), (skipped) => {
      if (skipped) return pass(next)
      return andThen(maybePromise(options.keyGenerator(request, response)), (key) =>
        andThen(count(key), (counted) => follow(key, counted)),
      )
    })
  }
}

/** A store that answers nothing has failed, as one that throws: in express-rate-limit, reading its count throws. */
function checkCounted(counted: Counted): Counted {
  if (typeof counted === 'object' && counted !== null) return counted
  throw new TypeError(`increment of the store must return { totalHits, resetTime }; got ${formatValue(counted)}.`)
}

/** Counts a request, or returns the error: `passOnStoreError` allows requests while the store fails. */
const orError =
  (count: (key: string) => MaybePromise<Counted>) =>
  async (key: string): Promise<Counted | Error> => {
    try {
      return await count(key)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

/** Without its result: a promise of the next handler is not ours, and its error must not call `next` again. */
const pass = (next: NextFunction): void => void next()

type HeaderSetter = (request: Request, response: Response, info: RateLimitInfo) => MaybePromise<void>

function headerSetter(options: Options, checks: Checks): HeaderSetter {
  const { legacyHeaders, standardHeaders, identifier } = options
  const setStandardFields = standardFieldsSetter(options)
  return (request, response, info) => {
    if (legacyHeaders) setLegacyFields(response, info)
    if (!standardHeaders) return
    checks.draft(standardHeaders)
    if (standardHeaders !== 'draft-6') checks.reset(info.resetTime)
    const name = standardHeaders === 'draft-8' ? valueFor(identifier, request, response) : ''
    return andThen(name, (known) => setStandardFields(response, info, known))
  }
}

function setRetryAfter(
  request: Request,
  response: Response,
  { legacyHeaders, standardHeaders, retryAfter, windowMs }: Options,
  { resetTime }: RateLimitInfo,
): MaybePromise<void> {
  if ((!legacyHeaders && !standardHeaders) || response.headersSent) return
  return andThen(valueFor(retryAfter, request, response), (seconds) => {
    response.setHeader('Retry-After', String(seconds ?? secondsTo(resetTime, windowMs)))
  })
}

export { memoryStore } from '@spillway/memory'
export { ipKeyGenerator } from './address.ts'
export type { EnabledValidations, Logger, LoggerFn, ValidateOption } from './checks.ts'
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
  UsedOptions,
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
