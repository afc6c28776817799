import type { PreparedTake } from '../algorithms/prepared-take.ts'
import type { Micros } from '../common/time.ts'
import type { Step, Taken } from '../kernels/kernel.ts'

/** Identifies one state by policy and key. A store must not mix up two pairs. */
export interface StateKey {
  /** The name of the policy. */
  readonly policy: string
  /** The key of the client that is counted. */
  readonly key: string
}

/** One kernel step on one state. */
export interface Take extends StateKey {
  /** The arguments of the kernel. */
  readonly step: Step
}

/**
 * When a caller stops waiting for an answer. A store may ignore it. With it, a store sends no expired call, and waits for a
 * connection, a lock or a retry no longer than its caller does.
 *
 * A store must not cancel a call that was sent in time, and returns its answer however late: the caller refunds units that
 * were taken for a request that it reported as failed.
 */
export interface Deadline {
  /** Milliseconds on the clock of `performance.now()`. It can grow: time in which the event loop was blocked does not count. */
  readonly atMs: number
}

/** A state that `list` has found. */
export interface ListedState {
  /** The key; or what the store has in place of it, if `isDigest`. */
  readonly key: string
  /** Whether the store keeps a digest of the key: it is hashed, or too long to be stored. */
  readonly isDigest: boolean
  /** The result of the step. */
  readonly taken: Taken
}

/**
 * Where states live. A store runs kernels; it decides nothing else.
 *
 * - Every key expires, no sooner than a minute after its state has become that of a new key (`emptyAt`).
 * - The clock is the store's own. `at` overrides it, for tests and simulation.
 * - Keys are untrusted: any string of any length.
 */
export interface Store {
  /**
   * Takes all ops or none, atomically. Answers in the order of the ops. A batch names a state at most once.
   * A denied batch writes nothing, with four exceptions: states dated after now are set to now, a bucket with a `start`
   * gets its initial state, a penalty with `extend` starts its block again, and a state of another kernel is adopted. Rejects only if the store fails. `deadline`
   * is when the caller stops waiting.
   */
  take(ops: readonly Take[], at?: Micros, deadline?: Deadline): Promise<readonly Taken[]>
  /**
   * Takes several batches of one hash slot in order, in one atomic step and at one moment. Each is all-or-nothing, and sees
   * the takes of those before it. Absent if the store does not support it; of a `SyncStore`, `takeSync` is called for each.
   */
  takeEach?(
    batches: readonly (readonly Take[])[],
    at?: Micros,
    deadline?: Deadline,
  ): Promise<readonly (readonly Taken[])[]>
  /**
   * Deletes states, of any hash slots, and returns how many were stored. A state counts as stored for at least a minute after
   * it has become that of a new key.
   */
  delete(keys: readonly StateKey[], deadline?: Deadline): Promise<number>
  /**
   * Deletes all states of these policies, in several steps, and returns how many were stored. A state that is written
   * meanwhile may remain. Absent if the store cannot list its states.
   */
  deleteAll?(policies: readonly string[]): Promise<number>
  /**
   * Lists the states of a policy, in chunks of some hundred, with the result of `step` on each: a peek, which writes nothing.
   * The caller stops iterating when it has enough, so that a chunk must be a small part of the work. A chunk may be empty, and
   * a state that is written meanwhile may be listed twice or not at all. Absent if the store cannot list its states.
   */
  list?(policy: string, step: Step): AsyncIterable<readonly ListedState[]>
  /**
   * Returns the hash slot or partition of a state, for a distributed store. Each batch is of one slot only; a request over
   * several slots is sent to one after the other, and rolled back if a later one denies. The slot of a state never changes.
   * Default: all states are in one slot.
   */
  slotOf?(key: StateKey): string | number
  /**
   * Returns the shard of a state, such as a node of a cluster, whose states fail together: each shard has its own circuit
   * breaker. Default: the result of `slotOf`.
   */
  shardOf?(key: StateKey): string | number
  /**
   * The largest `limit` of a `slidingLog` that the store takes: a take reads and writes the whole log. Building a limiter
   * with a larger one throws. Default: no limit besides the quota's own maximum.
   */
  readonly maxLogLimit?: number
  /** Throws a `QuotaError` if the store lacks the algorithm of a quota, when a limiter is built. Default: it lacks none. */
  checkQuota?(quota: Pick<Step, 'kernel'>): void
  /**
   * Identifies the states of the store. Limiters with equal scopes and names must have equal quotas, keys and matches, or
   * building the second one throws. Default: the store itself, so that two stores never share states.
   */
  readonly scope?: StoreScope
}

/** The states of one database: stores share states if they have the same owner and the same name. */
export interface StoreScope {
  /** The connection to the database, such as a client or a pool. */
  readonly owner: object
  /** The namespace within the database, such as a prefix or a table. */
  readonly name: string
}

/** An in-memory store, which can answer without a promise. */
export interface SyncStore extends Store {
  /** The answer of `take`, without a promise. */
  takeSync(ops: readonly Take[], at?: Micros): readonly Taken[]
  /** Prepares a step of a policy for many keys: the fast path. Absent if all calls go to `takeSync`. */
  prepareSync?(policy: string, step: Step): PreparedTake
  /** Returns the store's time in microseconds since 1970, for prepared takes. Present if `prepareSync` is. */
  clock?(): Micros
  /** The result of `delete`, without a promise. */
  deleteSync(keys: readonly StateKey[]): number
}

/** A store that prepares takes, and has the clock that they need. */
export type PreparingStore = SyncStore & Required<Pick<SyncStore, 'prepareSync' | 'clock'>>
