import type { BucketStep } from './kernels/bucket.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import type { Micros } from './time.ts'

/** Names one state: whom it counts, and under which policy. The pair must be kept apart from every other pair. */
export interface StateKey {
  /** The name of the policy that counts. */
  readonly policy: string
  /** Whom it counts. */
  readonly key: string
}

/** One kernel step on one state. */
export interface Take extends StateKey {
  /** What the kernel is to do. */
  readonly step: Step
}

/**
 * When a caller stops waiting for an answer. A store may ignore it; it is there so that a store does not send what has
 * expired, and does not wait for a connection, a lock or another try for longer than its caller does.
 *
 * What was sent in time is left alone: its answer is passed on however late it comes, because the caller gives back
 * what was taken for a request that was reported as failed.
 */
export interface Deadline {
  /** On the time line of `performance.now()`. Later reads may be larger: time in which this process stood still does not count. */
  readonly atMs: number
}

/**
 * Where states live. A store runs kernels; it decides nothing else.
 *
 * - Every key expires by itself, no sooner than a minute after its state has become the same as none (`emptyAt`).
 * - The clock is the store's own. `at` overrides it, for tests and simulation.
 * - Keys reach the store as they are: any string, of any length, from anyone.
 */
export interface Store {
  /**
   * Takes every op or none, atomically. Answers in the order of the ops. A batch names a state once at most.
   * A batch that is refused writes nothing, except that states dated after now are brought back to now, and that a bucket
   * with a `start` begins.
   * Rejects only when the store itself fails. `deadline` is when the caller stops waiting, if it does.
   */
  take(ops: readonly Take[], at?: Micros, deadline?: Deadline): Promise<readonly Taken[]>
  /**
   * Takes several batches of one part in their order, in one atomic step and at one moment: each all or none, and each
   * finds what those before it have taken. Absent if the store cannot; a `SyncStore` does it by one `takeSync` after the
   * other.
   */
  takeEach?(
    batches: readonly (readonly Take[])[],
    at?: Micros,
    deadline?: Deadline,
  ): Promise<readonly (readonly Taken[])[]>
  /**
   * Deletes states, of any parts, and returns how many were stored: their next take finds them new. A state counts for at
   * least a minute after it has become the same as none.
   */
  delete(keys: readonly StateKey[], deadline?: Deadline): Promise<number>
  /**
   * Deletes all states of these policies, in as many steps as it takes, and returns how many there were. A state that is
   * written meanwhile may stay. Absent if the store cannot list its states.
   */
  deleteAll?(policies: readonly string[]): Promise<number>
  /**
   * Tells which states live together, for a store that is spread over places: a slot of a cluster, a shard. A batch is
   * then of one part only; what has several parts is taken from one after the other, and given back where a later one
   * refuses. The same state is always of the same part. A store without it is all one part.
   */
  slotOf?(key: StateKey): string | number
  /**
   * Names what a state fails together with, such as a node of a cluster: each has a circuit breaker of its own. Default:
   * what `slotOf` returns.
   */
  shardOf?(key: StateKey): string | number
  /**
   * The largest `limit` of a `slidingLog` that the store takes: a take reads and writes the whole log. A limiter with a
   * larger one is refused when it is built. Without it, the quota's own maximum counts.
   */
  readonly maxLogLimit?: number
  /**
   * Which states the store keeps. Limiters on equal scopes that use one name have to count alike, and are refused when
   * they are built if they do not. Default: the store itself, so that two stores never share states.
   */
  readonly scope?: StoreScope
}

/** The states of one database: stores share states if they have the same owner and the same name. */
export interface StoreScope {
  /** What the store reaches its states through, such as a client or a pool. */
  readonly owner: object
  /** What tells states of one owner apart, such as a prefix or a table. */
  readonly name: string
}

/** The scope of a store. */
export const scopeOf = (store: Store): StoreScope => store.scope ?? { owner: store, name: '' }

/** The `maxLogLimit` of remote stores. A log of 10,000 entries blocks Redis for 3 ms and PostgreSQL for 30 ms a take. */
export const REMOTE_LOG_LIMIT = 1_000

/**
 * Takes a step for a key, and reports how far ahead of now the bucket was full before: `base − now`, in microseconds, or in
 * parts of `scale` where the step has a fraction. NaN where a state is
 * not that simple: then nothing was taken, and `takeOneSync` is to be called.
 */
export type PreparedTake = (key: string, at?: Micros) => number

/** What a wrapper passes on of the store behind it, to which it may show another key. */
export const storeTraits = (
  store: Store,
  shown: (key: StateKey) => StateKey = (key) => key,
): Pick<Store, 'slotOf' | 'shardOf' | 'maxLogLimit' | 'scope'> => ({
  scope: scopeOf(store),
  ...(store.slotOf && { slotOf: (key) => (store as Required<Store>).slotOf(shown(key)) }),
  ...(store.shardOf && { shardOf: (key) => (store as Required<Store>).shardOf(shown(key)) }),
  ...(store.maxLogLimit !== undefined && { maxLogLimit: store.maxLogLimit }),
})

/** The `deleteAll` of a wrapper: that of the store behind it, if there is one, within what the wrapper does around it. */
export const deletingAll = (
  store: Store,
  around: (policies: readonly string[], work: () => Promise<number>) => Promise<number> = (_, work) => work(),
): Pick<Store, 'deleteAll'> => {
  const { deleteAll } = store
  return deleteAll ? { deleteAll: (policies) => around(policies, () => deleteAll.call(store, policies)) } : {}
}

type TakeEach = NonNullable<Store['takeEach']>

/** The `takeEach` of a wrapper, which calls that of the store behind it, if there is one. */
export const takingEach = (
  store: Store,
  around: (
    batches: Parameters<TakeEach>[0],
    at: Micros | undefined,
    deadline: Deadline | undefined,
    takeEach: TakeEach,
  ) => ReturnType<TakeEach>,
): Pick<Store, 'takeEach'> => {
  const takeEach = store.takeEach?.bind(store)
  return takeEach ? { takeEach: (batches, at, deadline) => around(batches, at, deadline, takeEach) } : {}
}

/** A store in this very process, which answers without a promise. */
export interface SyncStore extends Store {
  /** What `take` answers, at once. */
  takeSync(ops: readonly Take[], at?: Micros): readonly Taken[]
  /** Takes a single op, as `takeSync` does, without the lists around it: for those to whom that matters. */
  takeOneSync?(policy: string, key: string, step: Step, at?: Micros): Taken
  /**
   * Makes a step ready to be taken for many keys, where even the objects of a take matter: a bucket's step that consumes,
   * without a grain, a start or patience, whose ticks all are below 2^52. A call answers one number, which tells all unless
   * it is NaN: the take is allowed when it is at most `tolerance − check`.
   */
  prepareSync?(policy: string, step: BucketStep): PreparedTake
  /** Tells the time by which steps are taken, for those who have to know it besides the number above. */
  clock?(): Micros
  /** What `delete` returns, at once. */
  deleteSync(keys: readonly StateKey[]): number
}

/** Reports whether a store can answer without a promise. */
export function isSync(store: Store): store is SyncStore {
  return 'takeSync' in store
}
