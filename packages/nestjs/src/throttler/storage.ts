import {
  type Decision,
  fixedWindow,
  type Quota,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core'
import {
  checkIsStore,
  checkKey,
  decideNow,
  evictOldest,
  LONGEST,
  type Policy,
  type PolicyCheck,
  policyOf,
  resetKey,
  type StoreConfig,
  storeConfigOf,
} from '@spillway/core/internal'
import { memoryStore } from '@spillway/memory'

/** The count of a key after a request. */
export interface ThrottlerStorageRecord {
  /** The requests that count, including this one. */
  totalHits: number
  /** Seconds until the oldest request does not count any more. */
  timeToExpire: number
  /** Whether the request is denied. */
  isBlocked: boolean
  /** Seconds until requests are allowed again. */
  timeToBlockExpire: number
}

/** Counts requests. */
export interface ThrottlerStorage {
  /** Counts a request. `ttl` and `blockDuration` are in milliseconds. */
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord>
}

/** The injection token of the storage. */
export const ThrottlerStorage: unique symbol = Symbol('ThrottlerStorage')

/** The longest log: above it, two counts approximate the log. */
const LONGEST_LOG = 1_000
/** The highest limit that is counted. No client reaches a higher one, which is how a throttler is turned off. */
const MOST_COUNTED = 1e9
/** The most units times steps of a window whose shares are exact. */
const MOST_SHARES = 2 ** 50
/** The most policies that are kept: functions of a request may return any numbers. */
const MOST_POLICIES = 500

/** A storage over a store: by default in memory. */
export class ThrottlerStorageService implements ThrottlerStorage {
  readonly #storeConfig: StoreConfig
  readonly #policies = new Map<string, Policy>()

  constructor(store: Store = memoryStore()) {
    checkIsStore('storage', store)
    this.#storeConfig = storeConfigOf({ store })
  }

  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const most = Math.floor(limit)
    const [window, blockMs] = [countable(ttl), countable(blockDuration)]
    if (most < 1) return blocked(1, blockMs > 0 ? blockMs : window)
    if (window === 0) return { totalHits: 1, timeToExpire: 0, isBlocked: false, timeToBlockExpire: 0 }
    if (most > MOST_COUNTED)
      return { totalHits: 1, timeToExpire: inSeconds(window), isBlocked: false, timeToBlockExpire: 0 }
    const [policy, counted] = stateOf(throttlerName, key)
    const check = (quota: Quota, kind: string): PolicyCheck => ({
      policy: this.#policyOf(`${policy}:${kind}`, quota),
      key: checkKey(counted),
      cost: 1,
    })
    const quota = quotaOf(most, window)
    const requests = check(quota, quota.kernel)
    const blocks = blockMs > 0 ? check(tokenBucket({ limit: 1, per: blockMs }), 'block') : undefined
    // At the same time: no request comes between the two.
    const [block, request] = await Promise.all([
      blocks && decideNow('peek', [blocks]),
      decideNow('consume', [requests]),
    ])
    if (block?.allowed === false) {
      if (request.allowed) await decideNow('refund', [requests])
      return blocked(most + 1, block.retryAfterMs)
    }
    if (request.allowed) return allowed(request)
    if (blocks === undefined) return blocked(most + 1, request.retryAfterMs)
    // A client that was blocked starts anew.
    const state = { policy: requests.policy.name, key: requests.key }
    await Promise.all([decideNow('consume', [blocks]), resetKey([state], this.#storeConfig)])
    return blocked(most + 1, blockMs)
  }

  /**
   * The policy with the quota of a request. Its states have a name that no request changes: a client whose `ttl` differs each
   * time would have a count for each.
   */
  #policyOf(name: string, quota: Quota): Policy {
    const id = JSON.stringify([name, quota])
    const policy = this.#policies.get(id) ?? policyOf(name, quota, this.#storeConfig)
    this.#policies.set(id, policy)
    evictOldest(this.#policies, MOST_POLICIES)
    return policy
  }
}

/** Stands for the names of throttlers that are part of the key. */
const ANY_NAME = '(any)'

/** The policy and the key of a count. No policy has a long name, and no key is empty: the key is then that of both. */
function stateOf(throttlerName: string, key: unknown): readonly [name: string, key: string] {
  const text = typeof key === 'number' ? String(key) : (key as string)
  if (/^[ -~]{0,40}$/.test(throttlerName) && throttlerName !== ANY_NAME && text !== '') return [throttlerName, text]
  return [ANY_NAME, JSON.stringify([throttlerName, text])]
}

/** Milliseconds that can be counted: 95 years stand for more, such as `Infinity`, and 0 for less than a microsecond. */
const countable = (millis: number): number => (millis < 0.001 ? 0 : Math.min(millis, LONGEST / 1_000))

function quotaOf(limit: number, ttl: number): Quota {
  if (limit <= LONGEST_LOG) return slidingLog({ limit, window: ttl })
  // The shares of a window that slides are exact in whole steps, which are at most a thousandth of it.
  const step = ttl > 1e6 ? 1_000 : ttl > 1_000 ? 1 : 0.001
  const window = Math.min(Math.ceil(ttl / step) * step, LONGEST / 1_000)
  if (limit * (window / step) <= MOST_SHARES) return slidingWindow({ limit, window })
  return fixedWindow({ limit, window, align: 'first' })
}

const inSeconds = (millis: number): number => Math.ceil(millis / 1_000)

const allowed = ({ limit, remaining, replenishAfterMs }: Decision): ThrottlerStorageRecord => ({
  totalHits: limit - remaining,
  timeToExpire: inSeconds(replenishAfterMs),
  isBlocked: false,
  timeToBlockExpire: 0,
})

const blocked = (totalHits: number, waitMs: number): ThrottlerStorageRecord => ({
  totalHits,
  timeToExpire: inSeconds(waitMs),
  isBlocked: true,
  timeToBlockExpire: inSeconds(waitMs),
})

/** A store as a storage; a storage as it is. */
export const storageOf = (storage: ThrottlerStorage | Store | undefined): ThrottlerStorage =>
  isStorage(storage) ? storage : new ThrottlerStorageService(storage)

const isStorage = (storage: unknown): storage is ThrottlerStorage =>
  typeof (storage as Partial<ThrottlerStorage> | null | undefined)?.increment === 'function'
