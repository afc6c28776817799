// A Redis store of the algorithms and layers that an app names, for bundles that have no others.

export type { LeaseOptions, LeasingStore, Quota, Store } from '@spillway/core'
export type { RemoteStoreOptions } from '@spillway/core/lean'
export type { GlideRedisClient, IoredisClient, NodeRedisClient, RedisClient } from './clients.ts'
export type { RedisFeature } from './feature.ts'
export {
  buckets,
  denyCache,
  glide,
  hashedKeys,
  leases,
  listing,
  logs,
  penalties,
  slots,
  warmUps,
  windows,
} from './features.ts'
export {
  createRedisStore,
  type LeanRedisStore,
  type LeanRedisStoreFor,
  type LeanRedisStoreOptions,
  type PlainRedisStoreOptions,
} from './lean-store.ts'
export type { RedisStoreOptions } from './options.ts'
