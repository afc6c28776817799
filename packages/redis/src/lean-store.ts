import { type LeaseOptions, type LeasingStore, type Quota, QuotaError, type Store } from '@spillway/core'
import { checkNames, formatValue, givenOptions } from '@spillway/core/internal'
import { type RemoteStoreOptions, remoteStore } from '@spillway/core/lean'
import type { KernelName } from './algorithms/algorithm.ts'
import { baseStore } from './base-store.ts'
import { type MistakeOf, type RedisClient, redisOf } from './clients.ts'
import { Codec } from './codec.ts'
import type { RedisFeature } from './feature.ts'
import type { RedisStoreOptions } from './options.ts'

/** The options of a store without features: its own, and those of limiters that set none. */
export interface PlainRedisStoreOptions extends Pick<RedisStoreOptions, 'prefix' | 'coalesce'>, RemoteStoreOptions {}

/** A store that counts by some quotas only: another is a type error, and throws when a limiter is built. */
export interface LeanRedisStore<Q extends Quota> extends Store {
  /** Throws a `QuotaError` if the store was not given the algorithm of a quota. */
  checkQuota(quota: Quota): asserts quota is Q
}

/** A feature of any options and algorithm. */
// biome-ignore lint/suspicious/noExplicitAny: of any options and kernel.
type AnyFeature = RedisFeature<any, any>

/** All members of a union. */
type All<U> = (U extends unknown ? (each: U) => void : never) extends (each: infer I) => void ? I : never

/** The options that features bring. */
type OptionsOf<F> = F extends RedisFeature<infer O, KernelName> ? O : never
/** The kernels of features. */
type KernelOf<F> = F extends { readonly types?: { readonly kernel: infer K } } ? K : never

/** The options of a store with features. An option of another feature is a type error. */
export type LeanRedisStoreOptions<F> = PlainRedisStoreOptions & All<OptionsOf<F> | object>

/** The store with features `F`. */
type StoreOf<F> = LeanRedisStore<Quota & { readonly kernel: KernelOf<F> }>

/** The option of leases; never without their feature. */
type LeaseOf<F> = 'lease' extends keyof LeanRedisStoreOptions<F> ? number | LeaseOptions : never

/** `redisStore` with features `F`. */
export interface LeanRedisStoreFor<F> {
  /** Returns a remote store in Redis or Valkey, with leases. Throws a `QuotaError` if the client or an option is invalid. */
  (client: RedisClient, options: LeanRedisStoreOptions<F> & { readonly lease: LeaseOf<F> }): StoreOf<F> & LeasingStore
  /** Returns a remote store in Redis or Valkey. Throws a `QuotaError` if the client or an option is invalid. */
  (client: RedisClient, options?: LeanRedisStoreOptions<F>): StoreOf<F>
}

/** What brings an option or the algorithm of a kernel. */
const BROUGHT_BY = {
  denyCache: 'denyCache',
  lease: 'leases',
  hashKeys: 'hashedKeys',
  bucket: 'buckets',
  'sliding-window': 'windows',
  'sliding-log': 'logs',
  'warm-up': 'warmUps',
  penalty: 'penalties',
  slots: 'slots',
}

const remedy = (feature: string): string => `Write createRedisStore(${feature}), imported from '@spillway/redis/lean'.`

function missing(kernel: KernelName): never {
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `this redisStore was not given the algorithm of this quota, ${kernel}. ${remedy(BROUGHT_BY[kernel])}`,
  )
}

/** The layers, from the server to the caller. */
const LAYERS = ['hashedKeys', 'denyCache', 'leases']
const REMOTE = ['deadline', 'onStoreError', 'replicas']

/**
 * Returns `redisStore` with the features that an app names: the algorithms of its quotas, and what it uses besides. The store has
 * the deadline, the circuit breaker and the failure mode of a limiter.
 *
 * @example
 * import { buckets, createRedisStore, denyCache } from '@spillway/redis/lean'
 *
 * const store = createRedisStore(buckets, denyCache)(redis, { deadline: '20ms' })
 *
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if a feature is none
 */
/* @__NO_SIDE_EFFECTS__ */
export function createRedisStore<const F extends readonly AnyFeature[]>(...features: F): LeanRedisStoreFor<F[number]> {
  const all = features.map(checkFeature)
  const layers = all
    .flatMap(({ name, layer }) => (layer === undefined ? [] : [{ name, layer }]))
    .sort((a, b) => LAYERS.indexOf(a.name) - LAYERS.indexOf(b.name))
  const options = ['prefix', 'coalesce', ...all.flatMap(({ option }) => option ?? []), ...REMOTE]
  const listing = all.find((each) => each.listing)?.listing
  const ofOthers = all.find((each) => each.client)?.client
  const codec = new Codec(
    all.flatMap(({ algorithm }) => algorithm ?? []),
    missing,
  )
  const mistakeOf: MistakeOf = (_, can) =>
    can('customCommand') && !ofOthers
      ? `this redisStore takes no client of Valkey GLIDE. ${remedy('glide')}`
      : undefined
  const checkQuota = ({ kernel }: Quota): void => void codec.algorithmOf(kernel)
  const build = (client: RedisClient, given: RedisStoreOptions & RemoteStoreOptions = {}): Store => {
    checkNames('redisStore', given, options, broughtBy)
    const base = baseStore(client, redisOf(client, mistakeOf, ofOthers), given, codec, listing)
    const store = layers.reduce((next, { layer }) => layer(next, given, client), base)
    return remoteStore(Object.assign(store, { checkQuota }), givenOptions(given, REMOTE))
  }
  return build as never
}

function checkFeature(feature: AnyFeature): AnyFeature {
  if (typeof feature === 'object' && typeof (feature as AnyFeature | null)?.name === 'string') return feature
  throw new QuotaError('ERR_SPILLWAY_OPTION', `createRedisStore takes features; got ${formatValue(feature)}.`)
}

const broughtBy = (option: string): string | undefined => {
  const feature = BROUGHT_BY[option as keyof typeof BROUGHT_BY] as string | undefined
  return feature && remedy(feature)
}
