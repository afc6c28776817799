import { bucketAlgorithm } from './algorithms/buckets.ts'
import { logAlgorithm } from './algorithms/logs.ts'
import { penaltyAlgorithm } from './algorithms/penalties.ts'
import { slotsAlgorithm } from './algorithms/slots.ts'
import { warmUpAlgorithm } from './algorithms/warm-ups.ts'
import { windowAlgorithm } from './algorithms/windows.ts'
import type { RedisFeature } from './feature.ts'
import { ofGlide } from './glide.ts'
import { denyCaching, hashing, leasing } from './layers.ts'
import { listingOf } from './listing.ts'
import type { RedisStoreOptions } from './options.ts'

/** Quotas such as `perMinute`, `tokenBucket` and `leakyBucket`, and refills at intervals. */
export const buckets: RedisFeature<object, 'bucket'> = { name: 'buckets', algorithm: bucketAlgorithm }
/** The quotas `slidingWindow` and `calendarWindow`; with `buckets`, also `fixedWindow`. */
export const windows: RedisFeature<object, 'sliding-window'> = { name: 'windows', algorithm: windowAlgorithm }
/** The quota `slidingLog`. */
export const logs: RedisFeature<object, 'sliding-log'> = { name: 'logs', algorithm: logAlgorithm }
/** The quota `warmingUp`. */
export const warmUps: RedisFeature<object, 'warm-up'> = { name: 'warmUps', algorithm: warmUpAlgorithm }
/** The quota `penalty`, and keys that are blocked by hand. */
export const penalties: RedisFeature<object, 'penalty'> = { name: 'penalties', algorithm: penaltyAlgorithm }
/** The quota `inFlight`. */
export const slots: RedisFeature<object, 'slots'> = { name: 'slots', algorithm: slotsAlgorithm }

/** `hashKeys`: Redis holds no address or user id. */
export const hashedKeys: RedisFeature<Pick<RedisStoreOptions, 'hashKeys'>, never> = {
  name: 'hashedKeys',
  option: 'hashKeys',
  layer: hashing,
}

/** `denyCache`: this process caches denials. */
export const denyCache: RedisFeature<Pick<RedisStoreOptions, 'denyCache'>, never> = {
  name: 'denyCache',
  option: 'denyCache',
  layer: denyCaching,
}

/** `lease`: this process consumes the units of many requests at once. */
export const leases: RedisFeature<Pick<RedisStoreOptions, 'lease'>, never> = {
  name: 'leases',
  option: 'lease',
  layer: leasing,
}

/** `resetAll` and `list` of limiters: the keys in Redis are listed. */
export const listing: RedisFeature<object, never> = { name: 'listing', listing: listingOf }

/** Clients of Valkey GLIDE. */
export const glide: RedisFeature<object, never> = { name: 'glide', client: ofGlide }
