import type { LeaseOptions, LeasingStore, Store } from '@spillway/core'
import { checkOptions, setServerOf, withRemoteDefaults } from '@spillway/core/internal'
import { bucketAlgorithm } from './algorithms/buckets.ts'
import { logAlgorithm } from './algorithms/logs.ts'
import { penaltyAlgorithm } from './algorithms/penalties.ts'
import { slotsAlgorithm } from './algorithms/slots.ts'
import { warmUpAlgorithm } from './algorithms/warm-ups.ts'
import { windowAlgorithm } from './algorithms/windows.ts'
import { baseStore } from './base-store.ts'
import { mistakeOf } from './client-mistakes.ts'
import { type RedisClient, redisOf } from './clients.ts'
import { Codec } from './codec.ts'
import { ofGlide } from './glide.ts'
import { denyCaching, hashing, leasing } from './layers.ts'
import { listingOf } from './listing.ts'
import type { RedisStoreOptions } from './options.ts'
import { serverReader } from './server.ts'

/**
 * Returns a remote store in Redis or Valkey: standalone, behind Sentinel, or a cluster. It is exact, uses the server's
 * clock, coalesces the checks of one event-loop tick into few script calls, and writes nothing for a denial.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the client or an option is invalid
 *
 * @example
 * const limiter = rateLimiter({ quota: perMinute(100), store: redisStore(new Redis()) })
 */
export function redisStore(
  client: RedisClient,
  options: RedisStoreOptions & { readonly lease: number | LeaseOptions },
): LeasingStore
/** Returns a remote store in Redis or Valkey without leases. */
export function redisStore(client: RedisClient, options?: RedisStoreOptions): Store
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  checkOptions('redisStore', options, ['prefix', 'coalesce', 'denyCache', 'lease', 'hashKeys'])
  const redis = redisOf(client, mistakeOf, ofGlide)
  setServerOf(client, serverReader(client, redis.dialect))
  const named = withRemoteDefaults(baseStore(client, redis, options, codec(), listingOf))
  return leasing(denyCaching(hashing(named, options, client), options, client), options)
}

let all: Codec | undefined

/** That of all algorithms. */
function codec(): Codec {
  all ??= new Codec([bucketAlgorithm, windowAlgorithm, logAlgorithm, warmUpAlgorithm, penaltyAlgorithm, slotsAlgorithm])
  return all
}
