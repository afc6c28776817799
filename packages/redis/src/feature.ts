import type { Store } from '@spillway/core'
import type { Algorithm, KernelName } from './algorithms/algorithm.ts'
import type { ListingOf } from './base-store.ts'
import type { ClientOf, RedisClient } from './clients.ts'
import type { RedisStoreOptions } from './options.ts'

/** Puts a store in front of a store, and checks its options; the store itself if they leave it out. */
export type Layer = (next: Store, options: RedisStoreOptions, client: RedisClient) => Store

/** What a lean store is built of: an algorithm, a layer, or what it knows of its client. */
export interface RedisFeature<O extends object = object, K extends KernelName = KernelName> {
  readonly name: string
  /** The name of its option. */
  readonly option?: string
  readonly algorithm?: Algorithm<K>
  readonly layer?: Layer
  readonly listing?: ListingOf
  readonly client?: ClientOf
  /** What types know of it. */
  readonly types?: { readonly options: O; readonly kernel: K }
}
