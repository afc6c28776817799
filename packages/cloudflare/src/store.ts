import {
  checkOptions,
  type Micros,
  QuotaError,
  REMOTE_LOG_LIMIT,
  type StateKey,
  type Store,
  shown,
  type Take,
  type Taken,
} from '@spillway/core'

/** What is used of a binding to the Durable Objects of class `RateLimits`: a `DurableObjectNamespace<RateLimits>`. */
export interface RateLimitsNamespace {
  /** The id of the object with a name. */
  idFromName(name: string): unknown
  /** The object with an id, near or far. */
  get(id: never): Readonly<Record<'take' | 'takeEach' | 'forget' | 'deleteAll', unknown>>
}

/** What `durableObjectStore` takes besides the namespace. */
export interface DurableObjectStoreOptions {
  /**
   * Spreads all keys over this many objects.
   * @default one object per key
   */
  readonly shards?: number
}

/** An object, as it is called from elsewhere. */
interface Stub {
  take(ops: readonly Take[], at?: Micros): Promise<readonly Taken[]>
  takeEach(batches: readonly (readonly Take[])[], at?: Micros): Promise<readonly (readonly Taken[])[]>
  forget(keys: readonly StateKey[]): Promise<number>
  deleteAll(policies: readonly string[]): Promise<number>
}

/** The longest name that an object is given as it is. */
const LONGEST_NAME = 200

/**
 * A store in Durable Objects: exact all over the world, as each key is counted in one place, near to where it was first
 * asked about. Policies that count by the same key are taken together, all or none.
 *
 * @example
 * const limiter = rateLimiter({ quota: perMinute(100), store: durableObjectStore(env.RATE_LIMITS) })
 */
export function durableObjectStore(namespace: RateLimitsNamespace, options: DurableObjectStoreOptions = {}): Store {
  checkOptions('durableObjectStore', options, ['shards'])
  if (typeof namespace?.idFromName !== 'function') {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `durableObjectStore needs a binding to Durable Objects; got ${shown(namespace)}. Is it among durable_objects.bindings in the configuration of the Worker, by the same name?`,
    )
  }
  const { shards } = options
  if (shards !== undefined && !(Number.isSafeInteger(shards) && shards >= 1)) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `shards must be a whole number, 1 or more; got ${shown(shards)}.`)
  }
  const partOf =
    shards === undefined ? ({ key }: StateKey) => objectOf(key) : ({ key }: StateKey) => partAt(hashOf(key) % shards)
  // Made anew for each call: a request cannot use what another has made.
  const stub = (part: string): Stub => namespace.get(namespace.idFromName(part) as never) as unknown as Stub
  return {
    maxLogLimit: REMOTE_LOG_LIMIT,
    scope: { owner: namespace, name: shards === undefined ? '' : `${shards}` },
    partOf,
    take: async (ops, at) => (ops.length === 0 ? [] : stub(onlyPart(ops, partOf)).take(ops, at)),
    takeEach: async (batches, at) => stub(onlyPart(batches.flat(), partOf)).takeEach(batches, at),
    delete: async (keys) => {
      const parts = new Map<string, StateKey[]>()
      for (const key of keys) parts.set(partOf(key), [...(parts.get(partOf(key)) ?? []), key])
      const deleted = await Promise.all([...parts].map(([part, own]) => stub(part).forget(own)))
      return total(deleted)
    },
    // Nobody can list the objects of a namespace.
    ...(shards !== undefined && {
      deleteAll: async (policies) => {
        const parts = Array.from({ length: shards }, (_, i) => partAt(i))
        return total(await Promise.all(parts.map((part) => stub(part).deleteAll(policies))))
      },
    }),
  }
}

const partAt = (shard: number): string => `shard ${shard}`

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

/** The object that all of these live in, where they do live in one. */
function onlyPart(ops: readonly Take[], partOf: (key: StateKey) => string): string {
  const [first] = ops as readonly [Take]
  const other = ops.find((op) => partOf(op) !== partOf(first))
  if (other === undefined) return partOf(first)
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `keys ${shown(first.key)} and ${shown(other.key)} live in different Durable Objects, and a take is of one. Give the policies the same key, or ask for the keys one after the other, or keep all of them in one object with durableObjectStore(namespace, { shards: 1 }).`,
  )
}

/** The name of a key's own object. Keys that come out alike share one, in which they are kept apart all the same. */
const objectOf = (key: string): string =>
  key.length <= LONGEST_NAME ? `key ${key}` : `long key ${key.slice(0, LONGEST_NAME)} ${hashOf(key)}`

/** A whole number, 0 or more, that a text always has: FNV-1a, mixed once more because similar texts come out close. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
