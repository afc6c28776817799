import {
  checkOptions,
  isSync,
  type Micros,
  micros,
  type Quota,
  QuotaError,
  type SlidingWindowQuota,
  type SlidingWindowTaken,
  type Store,
  type SyncStore,
  slidingWindow,
  stepFor,
  type Take,
  type Taken,
  tokenBucket,
  type Verb,
} from '@spillway/core'
import type { Counted, ExpressRateLimitStore } from './store.ts'

/** What `toExpressRateLimitStore` takes besides the store. */
export interface ToExpressRateLimitStoreOptions {
  /** Tells limiters on one store apart; `'express-rate-limit'` unless given. */
  readonly name?: string
  /** The length of a window; what the limiter says in `init` unless given. */
  readonly windowMs?: number
}

/** What a window and its requests are counted by, and how long it is. */
interface Quotas {
  /** One unit, gone for a window: when it is back, a new window may start. */
  readonly window: Quota
  /** Counts only: nothing is ever refused by it. */
  readonly count: SlidingWindowQuota
}

/** What counts keys, however it does. */
type Counter = Pick<ExpressRateLimitStore, 'increment' | 'decrement' | 'resetKey'> &
  Required<Pick<ExpressRateLimitStore, 'get'>>

/**
 * A store for express-rate-limit over one of Spillway's: the same windows, each of a key's own, which starts with its
 * first request and ends all at once.
 */
export function toExpressRateLimitStore(
  store: Store,
  options: ToExpressRateLimitStoreOptions = {},
): ExpressRateLimitStore {
  checkOptions('toExpressRateLimitStore', options, ['name', 'windowMs'])
  const { name = 'express-rate-limit' } = options
  let quotas = options.windowMs === undefined ? undefined : quotasOf(options.windowMs)
  const known = (): Quotas => {
    if (quotas) return quotas
    throw new QuotaError('ERR_SPILLWAY_OPTION', 'toExpressRateLimitStore needs windowMs where no limiter calls init.')
  }
  return {
    localKeys: isSync(store),
    prefix: name,
    init: ({ windowMs }) => {
      quotas ??= quotasOf(windowMs)
    },
    ...(isSync(store) ? oneState(store, name, known) : twoStates(store, name, known)),
  }
}

/**
 * Keeps the window and its count in one state, where no other request comes between two steps. A store that evicts keys
 * then keeps those with the most requests. The first request of a window adds two units: a window whose requests have
 * all been taken off is told apart from none.
 */
function oneState(store: SyncStore, name: string, known: () => Quotas): Counter {
  const take = (key: string, verb: Verb, units: number, at?: Micros): SlidingWindowTaken => {
    const [taken] = store.takeSync([{ policy: name, key, step: stepFor(known().count, verb, units) }], at)
    return taken as SlidingWindowTaken
  }
  const counted = ({ start, current }: SlidingWindowTaken): Counted => ({
    totalHits: current - 1,
    resetTime: new Date(Math.ceil((start + known().count.window) / 1000)),
  })
  const forget = (key: string): void => {
    store.deleteSync([{ policy: name, key }])
  }
  return {
    get: async (key) => {
      const found = take(key, 'peek', 1)
      return found.current > 0 ? counted(found) : undefined
    },
    increment: async (key) => {
      const { current, previous, now } = take(key, 'peek', 1)
      // A window has ended, and the next one starts with this request, not with that end.
      if (previous > 0) forget(key)
      return counted(take(key, 'charge', current > 0 ? 1 : 2, now))
    },
    decrement: async (key) => {
      const { current, now } = take(key, 'peek', 1)
      if (current > 1) take(key, 'refund', 1, now)
    },
    resetKey: async (key) => forget(key),
  }
}

/**
 * Keeps the window in one state and its count in another, which has the window's end in its key, so that processes that
 * see one end count together, and nothing has to be taken back.
 */
function twoStates(store: Store, name: string, known: () => Quotas): Counter {
  const take = async (policy: string, key: string, quota: Quota, verb: Verb): Promise<Taken> => {
    const ops: readonly Take[] = [{ policy, key, step: stepFor(quota, verb, 1) }]
    const [taken] = await store.take(ops)
    return taken as Taken
  }
  const windowEnd = async (key: string, verb: Verb): Promise<Micros | undefined> => {
    const taken = (await take(name, key, known().window, verb)) as Taken & { readonly tat: Micros }
    return taken.tat > taken.now ? taken.tat : undefined
  }
  const counted = async (key: string, end: Micros, verb: Verb): Promise<Counted> => {
    const taken = (await take(`${name} count`, countKey(key, end), known().count, verb)) as Taken & { current: number }
    return { totalHits: taken.current, resetTime: new Date(Math.ceil(end / 1000)) }
  }

  return {
    get: async (key) => {
      const end = await windowEnd(key, 'peek')
      return end === undefined ? undefined : counted(key, end, 'peek')
    },
    increment: async (key) => counted(key, (await windowEnd(key, 'consume')) as Micros, 'charge'),
    decrement: async (key) => {
      const end = await windowEnd(key, 'peek')
      if (end !== undefined) await counted(key, end, 'refund')
    },
    resetKey: async (key) => {
      const end = await windowEnd(key, 'peek')
      if (end === undefined) return
      const states = [
        { policy: name, key },
        { policy: `${name} count`, key: countKey(key, end) },
      ]
      // One at a time: they may live apart.
      for (const state of states) await store.delete([state])
    },
  }
}

const countKey = (key: string, end: Micros): string => `${end}:${key}`

function quotasOf(windowMs: number): Quotas {
  // Whole milliseconds, so that a count's shares are exact whatever the window.
  const window = Math.ceil(micros(windowMs, 'windowMs') / 1000)
  return { window: tokenBucket({ limit: 1, per: window }), count: slidingWindow({ limit: 1, window }) }
}
