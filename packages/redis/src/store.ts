import {
  type Duration,
  type LeaseOptions,
  type LeasingStore,
  type ListedState,
  micros,
  QuotaError,
  type StateKey,
  type Step,
  type Store,
  type Take,
  type Taken,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '@spillway/core'
import {
  checkBoolean,
  checkCount,
  checkOptions,
  checkSecret,
  formatValue,
  oncePer,
  printableScope,
  REMOTE_LOG_LIMIT,
  setSilenceRemedy,
} from '@spillway/core/internal'
import { bucketsOf, decodeBuckets, encodeBuckets } from './buckets.ts'
import { type RedisClient, redisOf } from './clients.ts'
import { coalescing, type Send } from './coalesce.ts'
import { keepConnectionErrors } from './connection-errors.ts'
import { warnOfEviction } from './eviction.ts'
import { failure } from './failure.ts'
import { checkPrefix, keyed, keyIn, namesOf, redisKey } from './name.ts'
import { slotOf } from './slot.ts'
import { type Call, decode, encode } from './wire.ts'

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
  const named = remoteStore(client, options)
  const { denyCache = '1s', lease } = options
  // The wrappers have other names for them.
  if (denyCache !== false) micros(denyCache, 'denyCache')
  if (lease !== undefined && typeof lease !== 'object') checkCount('lease', lease, 2)
  const remote =
    'hashKeys' in options ? withHashedKeys(named, keyed(checkSecret('redisStore', options.hashKeys))) : named
  const store = withDenyCache(remote, { for: denyCache, scope: scopeOf(client, options) })
  return lease === undefined ? store : withLeases(store, typeof lease === 'object' ? lease : { requests: lease })
}

const scopesOf = oncePer('redis scopes', (_client: object) => new Map<string, object>())

/** The object that deny caches share: stores with the same client, prefix and secret have the same states. */
function scopeOf(client: RedisClient, { prefix = 'spillway', hashKeys }: RedisStoreOptions): object {
  const ofClient = scopesOf(client)
  const name = JSON.stringify([prefix, hashKeys])
  const scope = ofClient.get(name) ?? {}
  ofClient.set(name, scope)
  return scope
}

/** The store without leases and deny cache: each check is a call to the server. */
function remoteStore(client: RedisClient, options: RedisStoreOptions): Store {
  checkOptions('redisStore', options, ['prefix', 'coalesce', 'denyCache', 'lease', 'hashKeys'])
  const redis = redisOf(client)
  keepConnectionErrors(client)
  setSilenceRemedy(client, redis.silenceRemedy)
  const prefix = checkPrefix(options.prefix ?? 'spillway')

  /** Rejects a call with a `StoreError`. */
  const fail = (error: unknown): never => {
    throw failure(error, redis)
  }
  const send: Send = (calls, deadline) => {
    const buckets = bucketsOf(calls)
    const request = buckets === undefined ? encode(calls) : encodeBuckets(buckets, calls[0]?.at)
    return redis.run(request, deadline).then((reply) => {
      warnOfEviction(client, redis.memoryInfo)
      return buckets === undefined ? decode(calls, reply) : decodeBuckets(buckets, calls, reply)
    }, fail)
  }
  const { put, flush } = checkBoolean('coalesce', options.coalesce, true)
    ? coalescing(send, redis.clustered ? ({ names }) => slotOf(names[0] as string) : () => 0)
    : { put: async (call: Call) => (await send([call], call.deadline))[0] ?? [], flush: () => {} }

  const mistakeOf = (ops: readonly Take[], names: readonly string[]): QuotaError | undefined =>
    redis.clustered && names.length > 1 ? errorOfSlots(ops, names) : undefined
  const slotOfKey = (key: StateKey): number => slotOf(redisKey(prefix, key))
  return {
    maxLogLimit: REMOTE_LOG_LIMIT,
    scope: printableScope('Redis', client, prefix),
    ...(redis.clustered && {
      slotOf: slotOfKey,
      shardOf: (key) => redis.nodeOf(slotOfKey(key)) ?? slotOfKey(key),
    }),
    take(ops, at, deadline) {
      if (ops.length === 0) return Promise.resolve([])
      const names = ops.map((op) => redisKey(prefix, op))
      const mistake = mistakeOf(ops, names)
      return mistake ? Promise.reject(mistake) : put({ ops, names, at, deadline })
    },
    takeEach(batches, at, deadline) {
      const calls = batches.map((ops): Call => ({ ops, names: ops.map((op) => redisKey(prefix, op)), at, deadline }))
      const mistake = mistakeOf(
        batches.flat(),
        calls.flatMap(({ names }) => names),
      )
      if (mistake) return Promise.reject(mistake)
      flush()
      return send(calls, deadline)
    },
    async delete(keys) {
      // Earlier checks must run before the deletion.
      flush()
      const deleted = await Promise.all(keys.map((key) => redis.deleteKey(redisKey(prefix, key)))).catch(fail)
      return deleted.reduce((sum, count) => sum + count, 0)
    },
    ...(redis.lists && {
      async deleteAll(policies: readonly string[]) {
        flush()
        return redis.deleteMatching(namesOf(prefix, policies)).catch(fail)
      },
      async *list(policy: string, step: Step): AsyncGenerator<readonly ListedState[]> {
        flush()
        const peek = (name: string): Promise<readonly Taken[]> =>
          put({ ops: [{ policy, key: '', step }], names: [name], at: undefined, deadline: undefined })
        try {
          for await (const names of redis.listMatching(namesOf(prefix, [policy]))) {
            const taken = await Promise.all(names.map(peek))
            yield names.map((name, i) => ({ ...keyIn(prefix, name), taken: taken[i]?.[0] as Taken }))
          }
        } catch (error) {
          fail(error)
        }
      },
    }),
  }
}

/** The error for keys of several hash slots: a script of a cluster can use one slot only. */
function errorOfSlots(ops: readonly Take[], names: readonly string[]): QuotaError | undefined {
  const slots = names.map(slotOf)
  const other = slots.findIndex((slot) => slot !== slots[0])
  if (other < 0) return undefined
  const [first, second] = [ops[0], ops[other]].map((op) => formatValue(op?.key))
  return new QuotaError(
    'ERR_SPILLWAY_KEY',
    `keys ${first} and ${second} are in different hash slots of the Redis Cluster, and one batch must use one slot. Use the same key for all policies, or a prefix with a hash tag such as "{shop}".`,
  )
}
