import type { Micros, State, StateKey, SyncStore, Take, Taken } from '@spillway/core'
import {
  checkBoolean,
  checkCount,
  checkFunctions,
  checkOptions,
  takenOf as resultOf,
  runKernel,
} from '@spillway/core/internal'
import { checkedClock, steadyClock } from './clock.ts'
import { warnOfLoneCounter } from './lone-counter.ts'
import { PolicyStates } from './policy-states.ts'
import { KernelTake, prepare } from './prepare.ts'

/** How many slots are listed at once: less than a millisecond of work. */
const CHUNK = 500

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The maximum number of keys per policy, 1 or more. Beyond it, keys that have used the least are evicted.
   * @default `100_000`
   */
  readonly maxKeys?: number
  /**
   * Returns the time in whole microseconds since 1970, for tests.
   * @default the system clock, made monotonic by `steadyClock`
   */
  readonly clock?: () => Micros
  /**
   * Whether each of several processes is meant to have limits of its own. `false` warns in a process that is one of several:
   * all of them together allow a multiple of each limit.
   * @default `false`
   */
  readonly perProcess?: boolean
}

/** An in-memory store and its counters. */
export interface MemoryStore extends SyncStore {
  /** The number of stored keys, of all policies. */
  readonly size: number
  /** How many keys were evicted before their quota was full again. If it grows, raise `maxKeys`. */
  readonly evictions: number
}

/**
 * Returns an in-memory store: exact, synchronous, bounded, without timers. Other processes do not share its states, and
 * a restart loses them.
 * @throws `QuotaError` `ERR_SPILLWAY_OPTION` if an option is invalid
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, ['maxKeys', 'clock', 'perProcess'])
  checkFunctions(options, ['clock'])
  const maxKeys = checkCount('maxKeys', options.maxKeys ?? 100_000, 1)
  const clock = options.clock === undefined ? steadyClock() : checkedClock(options.clock)
  const perProcess = checkBoolean('perProcess', options.perProcess)
  // One map per policy: the hot path need not concatenate policy and key.
  const statesByPolicy = new Map<string, PolicyStates>()
  const statesOf = (policy: string): PolicyStates => {
    const known = statesByPolicy.get(policy)
    if (known !== undefined) return known
    // Not when the store is made: its limiters then have no logger yet.
    if (!perProcess && statesByPolicy.size === 0) warnOfLoneCounter(store)
    const states = new PolicyStates(maxKeys)
    statesByPolicy.set(policy, states)
    return states
  }
  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const takes = ops.map(({ policy, step }) => new KernelTake(statesOf(policy), step))
    const fits = takes.map((take, i) => take.look((ops[i] as Take).key, at))
    const allowed = fits.every((each) => each)
    return takes.map((take) => take.commit(allowed))
  }
  const deleteSync = (keys: readonly StateKey[]): number =>
    keys.filter(({ policy, key }) => statesByPolicy.get(policy)?.delete(key)).length
  const sum = (of: (states: PolicyStates) => number): number =>
    [...statesByPolicy.values()].reduce((all, states) => all + of(states), 0)
  const store: MemoryStore = {
    prepareSync: (policy, step) => prepare(statesOf(policy), step),
    clock,
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
    deleteAll: async (policies) =>
      policies.reduce((sum, policy) => sum + (statesByPolicy.get(policy)?.clear() ?? 0), 0),
    async *list(policy, step) {
      for (const chunk of statesByPolicy.get(policy)?.chunks(CHUNK) ?? []) {
        const at = clock()
        const takenOf = (state: State): Taken => resultOf(runKernel(state, at, step), at, step, false)
        yield chunk.map(({ key, isDigest, state }) => ({ key, isDigest, taken: takenOf(state) }))
      }
    },
    get size() {
      return sum(({ size }) => size)
    },
    get evictions() {
      return sum(({ evictions }) => evictions)
    },
  }
  return store
}
