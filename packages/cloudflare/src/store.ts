import { type Micros, QuotaError, type StateKey, type Store, type Take, type Taken } from '@spillway/core'
import {
  checkCount,
  checkOptions,
  formatValue,
  hash32,
  hasMethod,
  printableScope,
  REMOTE_LOG_LIMIT,
  sentStep,
  withRemoteDefaults,
} from '@spillway/core/internal'
import { lifetime } from './lifetime.ts'
import type { SentTake } from './sent.ts'

/** A binding to the Durable Objects of class `RateLimits`: a `DurableObjectNamespace<RateLimits>`. */
export interface RateLimitsNamespace {
  /** Returns the id of the object with this name. */
  idFromName(name: string): unknown
  /** Returns a stub of the object with this id. */
  get(id: never): Readonly<Record<'take' | 'takeEach' | 'forget' | 'deleteAll', unknown>>
}

/** Options of `durableObjectStore`. */
export interface DurableObjectStoreOptions {
  /**
   * Spreads all keys over this number of objects, 1 or more.
   * @default one object per key
   */
  readonly shards?: number
}

/** The remote methods of an object. */
interface Stub {
  take(ops: readonly SentTake[], at?: Micros): Promise<readonly Taken[]>
  takeEach(batches: readonly (readonly SentTake[])[], at?: Micros): Promise<readonly (readonly Taken[])[]>
  forget(keys: readonly StateKey[]): Promise<number>
  deleteAll(policies: readonly string[]): Promise<number>
}

/** The maximum length of a key that is part of an object's name unchanged, in characters. */
const LONGEST_NAME = 200

/**
 * Returns a remote store in Durable Objects. It is exact worldwide, because one object counts each key, near the first
 * request for that key. Policies with the same key are checked all-or-nothing.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if the binding or an option is invalid
 *
 * @example
 * const limiter = rateLimiter({ quota: perMinute(100), store: durableObjectStore(env.RATE_LIMITS) })
 */
export function durableObjectStore(namespace: RateLimitsNamespace, options: DurableObjectStoreOptions = {}): Store {
  checkOptions('durableObjectStore', options, ['shards'])
  // Any name is a method of an object's stub, and of a service binding.
  if (!hasMethod(namespace, 'idFromName') || !hasMethod(namespace, 'get') || hasMethod(namespace, 'take')) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `durableObjectStore needs a binding to Durable Objects, such as env.RATE_LIMITS; got ${formatValue(namespace)}. Is it among durable_objects.bindings in the configuration of the Worker, by the same name?`,
    )
  }
  const shards = options.shards === undefined ? undefined : checkCount('shards', options.shards, 1)
  const partOf =
    shards === undefined ? ({ key }: StateKey) => objectOf(key) : ({ key }: StateKey) => partAt(hashOf(key) % shards)
  // Each call needs a new stub: a request cannot use a stub of another request.
  const stub = (part: string): Stub => namespace.get(namespace.idFromName(part) as never) as unknown as Stub
  /**
   * Keeps the request running until an object answers: otherwise its response or its client's leaving ends it, and a late
   * answer is not refunded.
   */
  const awaited = <T>(answer: Promise<T>): Promise<T> => {
    lifetime().waitUntil?.(Promise.allSettled([answer]))
    return answer
  }
  return withRemoteDefaults<Store>({
    maxLogLimit: REMOTE_LOG_LIMIT,
    scope: printableScope('Durable Objects', namespace, shards === undefined ? '' : `${shards}`),
    slotOf: partOf,
    take: async (ops, at) => (ops.length === 0 ? [] : awaited(stub(onlyPart(ops, partOf)).take(sent(ops, at), at))),
    takeEach: async (batches, at) =>
      awaited(
        stub(onlyPart(batches.flat(), partOf)).takeEach(
          batches.map((ops) => sent(ops, at)),
          at,
        ),
      ),
    delete: async (keys) => {
      const parts = new Map<string, StateKey[]>()
      for (const key of keys) parts.set(partOf(key), [...(parts.get(partOf(key)) ?? []), key])
      const deleted = await Promise.all([...parts].map(([part, own]) => awaited(stub(part).forget(own))))
      return total(deleted)
    },
    // The objects of a namespace cannot be listed.
    ...(shards !== undefined && {
      deleteAll: async (policies) => {
        const parts = Array.from({ length: shards }, (_, i) => partAt(i))
        return total(await Promise.all(parts.map((part) => stub(part).deleteAll(policies))))
      },
    }),
  })
}

/** Ops as plain data: an object cannot call a calendar of the caller. */
const sent = (ops: readonly Take[], at: Micros | undefined): readonly SentTake[] =>
  ops.map((op) => ({ ...op, step: sentStep(op.step, at) }))

const partAt = (shard: number): string => `shard ${shard}`

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/**
 * Returns the object that holds the states of all these ops.
 * @throws `QuotaError` `ERR_SPILLWAY_KEY` if they are in several objects
 */
function onlyPart(ops: readonly Take[], partOf: (key: StateKey) => string): string {
  const [first] = ops as readonly [Take]
  const other = ops.find((op) => partOf(op) !== partOf(first))
  if (other === undefined) return partOf(first)
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `keys ${formatValue(first.key)} and ${formatValue(other.key)} are in different Durable Objects, and one batch must use one object. Use the same key for all policies, check the keys one after the other, or use one object for all keys: durableObjectStore(namespace, { shards: 1 }).`,
  )
}

/** The name of a key's own object. Long keys with the same name share an object, which still stores them separately. */
const objectOf = (key: string): string =>
  key.length <= LONGEST_NAME ? `key ${key}` : `long key ${key.slice(0, LONGEST_NAME)} ${hashOf(key)}`

/** As the remainder is read, the upper bits are mixed into the lower ones. */
function hashOf(text: string): number {
  const hash = hash32(text)
  return (hash ^ (hash >>> 13)) >>> 0
}
