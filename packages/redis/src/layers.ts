import { micros, type Store, withDenyCache, withHashedKeys, withLeases } from '@spillway/core'
import { checkCount, checkSecret, oncePer } from '@spillway/core/internal'
import type { RedisClient } from './clients.ts'
import type { Layer } from './feature.ts'
import { keyed } from './name.ts'
import type { RedisStoreOptions } from './options.ts'

export const hashing: Layer = (next, options) =>
  'hashKeys' in options ? withHashedKeys(next, keyed(checkSecret('redisStore', options.hashKeys))) : next

export const denyCaching: Layer = (next, options, client) => {
  const { denyCache = '1s' } = options
  // The wrapper has another name for it.
  if (denyCache !== false) micros(denyCache, 'denyCache')
  return withDenyCache(next, { for: denyCache, scope: scopeOf(client, options) })
}

export const leasing = (next: Store, { lease }: RedisStoreOptions): Store => {
  if (lease === undefined) return next
  return withLeases(next, typeof lease === 'object' ? lease : { requests: checkCount('lease', lease, 2) })
}

const scopesOf = /* @__PURE__ */ oncePer('redis scopes', (_client: object) => new Map<string, object>())

/** The object that deny caches share: stores with the same client, prefix and secret have the same states. */
function scopeOf(client: RedisClient, { prefix = 'spillway', hashKeys }: RedisStoreOptions): object {
  const ofClient = scopesOf(client)
  const name = JSON.stringify([prefix, hashKeys])
  const scope = ofClient.get(name) ?? {}
  ofClient.set(name, scope)
  return scope
}
