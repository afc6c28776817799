import {
  type Duration,
  fixedWindow,
  isSync,
  type Logger,
  type Micros,
  micros,
  QuotaError,
  type SlidingWindowTaken,
  type Step,
  type Store,
  type StoreScope,
  type Taken,
} from '@spillway/core'
import {
  andThen,
  checkOptions,
  DEADLINE,
  deadlineIn,
  deleteFrom,
  loggerOf,
  type MaybePromise,
  type StoreLogger,
  scopeOf,
  setLogger,
  stepFor,
  takeFrom,
  type Verb,
} from '@spillway/core/internal'
import type { Counted, ExpressRateLimitStore } from './store.ts'

/** The options of `toExpressRateLimitStore`. */
export interface ToExpressRateLimitStoreOptions {
  /**
   * The name that separates limiters on one store.
   * @default `'express-rate-limit'`
   */
  readonly name?: string
  /**
   * The length of a window in milliseconds.
   * @default the limiter's `windowMs`, passed to `init`
   */
  readonly windowMs?: number
  /**
   * How long to wait for an answer of a remote store: then a call rejects.
   * @default `'50ms'`
   */
  readonly deadline?: Duration
}

/**
 * Makes a store for express-rate-limit from one of Spillway, with the same windows: each key has its own, which starts
 * with its first request. Every call is one atomic take of a `fixedWindow` with `align: 'first'`.
 */
export function toExpressRateLimitStore(
  store: Store,
  options: ToExpressRateLimitStoreOptions = {},
): ExpressRateLimitStore {
  checkOptions('toExpressRateLimitStore', options, ['name', 'windowMs', 'deadline'])
  const { name = 'express-rate-limit' } = options
  const deadline = micros(options.deadline ?? DEADLINE / 1_000, 'deadline')
  // That of the limiter which counts with the store, from the version of express-rate-limit on that has one.
  let own: Logger | undefined
  const logger: StoreLogger = {
    storeErrorOption: 'passOnStoreError',
    warn: (message) => (own ?? loggerOf(scopeOf(store).owner)).warn(message),
  }
  let windows = options.windowMs === undefined ? undefined : windowsOf(options.windowMs)
  const take = (key: string, verb: keyof Windows['steps']): MaybePromise<SlidingWindowTaken> => {
    if (windows === undefined) {
      return Promise.reject(
        new QuotaError('ERR_SPILLWAY_OPTION', 'toExpressRateLimitStore needs windowMs if no limiter calls init.'),
      )
    }
    // In JavaScript a keyGenerator may return undefined: such requests count as one client.
    const ops = [{ policy: name, key: String(key), step: windows.steps[verb] }]
    if (isSync(store)) return first(store.takeSync(ops))
    return takeFrom(store, ops, deadlineIn(deadline), logger).then(first)
  }
  const counted = ({ start, current }: SlidingWindowTaken): Counted => ({
    totalHits: current,
    resetTime: new Date(Math.ceil((start + (windows as Windows).length) / 1000)),
  })
  const counting: ExpressRateLimitStore = {
    localKeys: isSync(store),
    prefix: name,
    init: ({ windowMs, logger: given }) => {
      windows ??= windowsOf(windowMs)
      if (own === undefined && given !== undefined) setLogger(scopeOf(store).owner, given)
      own ??= given
    },
    ...(store.deleteAll && {
      resetAll: async () => {
        await store.deleteAll?.([name])
      },
    }),
    // A window whose requests were all subtracted differs from a missing one by its start, which is in the past.
    get: async (key) => {
      if (windows === undefined) return undefined // No limiter has counted yet.
      const found = await take(key, 'peek')
      return found.current > 0 || found.start < found.now ? counted(found) : undefined
    },
    // A charge counts denied requests too, as express-rate-limit does.
    increment: (key) => andThen(take(key, 'charge'), counted),
    decrement: async (key) => {
      await take(key, 'refund')
    },
    resetKey: async (key) => {
      const keys = [{ policy: name, key: String(key) }] as const
      if (isSync(store)) store.deleteSync(keys)
      else await deleteFrom(store, keys, deadlineIn(deadline), logger)
    },
  }
  if (options.name === undefined) unnamed.set(counting, scopeOf(store))
  return counting
}

/** The scopes of stores whose name is the default. */
const unnamed = new WeakMap<object, StoreScope>()

/** Where a store counts under the default name; undefined if it was given a name, or is not one of Spillway. */
export const unnamedScope = (store: object): StoreScope | undefined => unnamed.get(store)

const first = ([taken]: readonly Taken[]): SlidingWindowTaken => taken as SlidingWindowTaken

/** The windows of all keys. */
interface Windows {
  readonly length: Micros
  readonly steps: Readonly<Record<'peek' | 'charge' | 'refund', Step>>
}

function windowsOf(windowMs: number): Windows {
  // Rounded up to whole milliseconds, as express-rate-limit does.
  const quota = fixedWindow({ limit: 1, window: Math.ceil(micros(windowMs, 'windowMs') / 1000), align: 'first' })
  const stepOf = (verb: Verb): Step => Object.freeze(stepFor(quota, verb, 1))
  const steps = { peek: stepOf('peek'), charge: stepOf('charge'), refund: stepOf('refund') }
  return { length: quota.window, steps }
}
