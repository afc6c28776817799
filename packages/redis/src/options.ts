import type { Duration, LeaseOptions } from '@spillway/core'

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * The prefix of all keys. A prefix with a hash tag, such as `{shop}`, keeps all keys in one hash slot of a cluster,
   * so that any keys can be checked together, on one node.
   * @default `'spillway'`
   */
  readonly prefix?: string
  /**
   * Coalesces the checks of one event-loop tick into few script calls. Each check still has its own decision.
   * @default `true`
   */
  readonly coalesce?: boolean
  /**
   * The maximum time that this process caches a denial. `false` sends each check to the server. While a denial is
   * cached, a key that another process has refunded or reset may still be denied. Stores of one process with the same
   * client, `prefix` and `hashKeys` share the cache.
   * @default `'1s'`
   */
  readonly denyCache?: Duration | false
  /**
   * Leases units for up to this many requests in one call, and consumes them in this process: 100 reduces calls to as
   * few as 1 %. It admits no more than the bucket, unless another process refunds or resets the key. Other processes cannot
   * consume leased units. A crash loses at most one second of refill; `{ requests: 100, maxLoss: '10s' }` changes that.
   * @default no leases
   */
  readonly lease?: number | LeaseOptions
  /**
   * A secret of 16 characters or more by which keys are hashed (HMAC-SHA-256), so that Redis holds no address or user
   * id. All processes need the same secret; a new secret starts with new states.
   * @default keys are stored as they are
   */
  readonly hashKeys?: string
}
