import type { Micros, State, SyncStore, Taken } from '@spillway/core'
import {
  checkBoolean,
  checkCount,
  checkFunctions,
  checkOptions,
  digester,
  hasKnownHashes,
  takenOf as resultOf,
  runKernel,
} from '@spillway/core/internal'
import { AnyStates } from './any-states.ts'
import { checkedClock, steadyClock } from './clock.ts'
import { countingStore } from './counting-store.ts'
import { KernelTake } from './kernel-take.ts'
import { warnOfLoneCounter } from './lone-counter.ts'
import { PackedSlots } from './packed-slots.ts'
import { Pages } from './pages.ts'
import { prepare } from './prepare.ts'
import { ListedMapSlots } from './slots.ts'

/** The maximum number of keys in one Map: a Map of a million blocks the program for tens of milliseconds as it grows. */
const MAX_MAP_KEYS = 131_072

/** The default of `maxKeys`. */
export const MOST_KEYS = 100_000
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
  const maxKeys = checkCount('maxKeys', options.maxKeys ?? MOST_KEYS, 1)
  const clock = options.clock === undefined ? steadyClock() : checkedClock(options.clock)
  const perProcess = checkBoolean('perProcess', options.perProcess)
  const statesByPolicy = new Map<string, AnyStates>()
  const newStates = (): AnyStates => {
    // Not when the store is made: its limiters then have no logger yet.
    if (!perProcess && statesByPolicy.size === 0) warnOfLoneCounter(store)
    return new AnyStates(
      maxKeys,
      maxKeys <= MAX_MAP_KEYS && !hasKnownHashes() ? new ListedMapSlots(digester) : new PackedSlots(),
      new Pages((length) => new Float64Array(length)),
    )
  }
  const sum = (of: (states: AnyStates) => number): number =>
    [...statesByPolicy.values()].reduce((all, states) => all + of(states), 0)
  const store: MemoryStore = {
    ...countingStore(clock, statesByPolicy, newStates, prepare, (states, step) => new KernelTake(states, step)),
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
