import { QuotaError, type StateKey, type Store, type Take } from '@spillway/core'
import { checkBoolean, formatValue, printableScope, REMOTE_LOG_LIMIT, setSilenceRemedy } from '@spillway/core/internal'
import type { Call } from './call.ts'
import type { RedisAdapter, RedisClient } from './clients.ts'
import { type Coalescer, coalescing, type Send } from './coalesce.ts'
import type { Codec } from './codec.ts'
import { keepConnectionErrors } from './connection-errors.ts'
import { warnOfEviction } from './eviction.ts'
import { failure } from './failure.ts'
import { checkPrefix, namerOf } from './name.ts'
import type { RedisStoreOptions } from './options.ts'
import { slotOf } from './slot.ts'

/** What lists and deletes the states of a store. */
export interface Server {
  readonly client: RedisClient
  readonly redis: RedisAdapter
  readonly prefix: string
  readonly calls: Coalescer
  /** Rejects with a `StoreError`. */
  readonly fail: (error: unknown) => never
}

/** What a store has that can list its states. */
export type Listing = Required<Pick<Store, 'deleteAll' | 'list'>>

/** Returns it; undefined if the client cannot. */
export type ListingOf = (server: Server) => Listing | undefined

/** The store without layers: each check is a call to the server. */
export function baseStore(
  client: RedisClient,
  redis: RedisAdapter,
  options: Pick<RedisStoreOptions, 'prefix' | 'coalesce'>,
  codec: Codec,
  listingOf?: ListingOf,
): Store {
  keepConnectionErrors(client)
  setSilenceRemedy(client, redis.silenceRemedy)
  const prefix = checkPrefix(options.prefix ?? 'spillway')
  const nameOf = namerOf(prefix)
  const fail = (error: unknown): never => {
    throw failure(error, redis)
  }
  let hasAnswered = false
  const send: Send = async (calls, deadline) => {
    const exchange = codec.encode(calls)
    let reply: readonly unknown[]
    try {
      reply = await redis.run(exchange, deadline)
    } catch (error) {
      return fail(error)
    }
    if (!hasAnswered) warnOfEviction(client, redis.memoryInfo)
    hasAnswered = true
    return exchange.read(reply)
  }
  const calls: Coalescer = checkBoolean('coalesce', options.coalesce, true)
    ? coalescing(send, redis.clustered ? ({ names }) => slotOf(names[0] as string) : undefined)
    : {
        put: async (ops, names, at, deadline) => (await send([{ ops, names, at, deadline }], deadline))[0] ?? [],
        flush: () => {},
      }

  const mistakeOf = (ops: readonly Take[], names: readonly string[]): QuotaError | undefined =>
    redis.clustered && names.length > 1 ? errorOfSlots(ops, names) : undefined
  const slotOfKey = (key: StateKey): number => slotOf(nameOf(key))
  return {
    maxLogLimit: REMOTE_LOG_LIMIT,
    scope: printableScope('Redis', client, prefix),
    ...(redis.clustered && {
      slotOf: slotOfKey,
      shardOf: (key) => redis.nodeOf(slotOfKey(key)) ?? slotOfKey(key),
    }),
    take(ops, at, deadline) {
      const [op] = ops
      if (op === undefined) return Promise.resolve([])
      if (ops.length === 1) return calls.put(ops, [nameOf(op)], at, deadline)
      const names = ops.map(nameOf)
      const mistake = mistakeOf(ops, names)
      return mistake ? Promise.reject(mistake) : calls.put(ops, names, at, deadline)
    },
    takeEach(batches, at, deadline) {
      const all = batches.map((ops): Call => ({ ops, names: ops.map(nameOf), at, deadline }))
      const mistake = mistakeOf(
        batches.flat(),
        all.flatMap(({ names }) => names),
      )
      if (mistake) return Promise.reject(mistake)
      calls.flush()
      return send(all, deadline)
    },
    async delete(keys) {
      // Earlier checks must run before the deletion.
      calls.flush()
      const deleted = await Promise.all(keys.map((key) => redis.deleteKey(nameOf(key)))).catch(fail)
      return deleted.reduce((sum, count) => sum + count, 0)
    },
    ...listingOf?.({ client, redis, prefix, calls, fail }),
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
