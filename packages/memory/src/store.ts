import {
  type BucketStep,
  checkOptions,
  type Micros,
  type PreparedTake,
  QuotaError,
  runKernel,
  type State,
  type StateKey,
  type Step,
  type SyncStore,
  shown,
  type Take,
  type Taken,
  takenOf,
} from '@spillway/core'
import { steadyClock } from './clock.ts'
import { prepare } from './prepare.ts'
import { Shelf } from './shelf.ts'

/** What `memoryStore` takes. */
export interface MemoryStoreOptions {
  /**
   * The most keys kept per policy. Beyond it the keys that have used the least are evicted.
   * @default `100_000`
   */
  readonly maxKeys?: number
  /**
   * Returns the time in whole microseconds since 1970, for tests.
   * @default the system clock, made monotonic
   */
  readonly clock?: () => Micros
}

/** A store in this process, and what it can tell of itself. */
export interface MemoryStore extends SyncStore {
  /** How many keys it keeps now. */
  readonly size: number
  /** How many keys have been forgotten, for want of room, that were not yet full again: give it more room if it grows. */
  readonly forgotten: number
}

/**
 * A store in this process: exact, synchronous, bounded, without timers. What it counts is this process's alone, and
 * gone with it.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptions('memoryStore', options, ['maxKeys', 'clock'])
  const { maxKeys = 100_000, clock = steadyClock() } = options
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `maxKeys must be a whole number, 1 or more; got ${shown(maxKeys)}.`)
  }
  // A shelf for each policy spares the hot path from gluing policy and key together.
  const shelves = new Map<string, Shelf>()
  const shelfOf = (policy: string): Shelf => {
    const known = shelves.get(policy)
    if (known !== undefined) return known
    const shelf = new Shelf(maxKeys)
    shelves.set(policy, shelf)
    return shelf
  }
  const write = (shelf: Shelf, slot: number, key: string, state: State | undefined, step: Step, now: Micros): void => {
    if (state === undefined || step.peek) return
    if (slot >= 0) shelf.write(slot, state, step)
    else shelf.add(key, state, step, now)
  }

  const takeOneSync = (policy: string, key: string, step: Step, at: Micros = clock()): Taken => {
    const shelf = shelfOf(policy)
    const slot = shelf.find(key)
    const state = shelf.state(slot)
    const outcome = runKernel(state, at, step)
    const kept = outcome.allowed ? outcome.taken : outcome.kept
    if (kept !== state) write(shelf, slot, key, kept, step, at)
    return takenOf(outcome, at, step, outcome.allowed && !step.peek)
  }
  const prepareSync = (policy: string, step: BucketStep): PreparedTake => prepare(shelfOf(policy), step, clock)
  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const found = ops.map(({ policy, key }) => {
      const shelf = shelfOf(policy)
      return shelf.state(shelf.find(key))
    })
    const outcomes = ops.map(({ step }, i) => runKernel(found[i], at, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    return outcomes.map((outcome, i) => {
      const { policy, key, step } = ops[i] as Take
      const state = takes ? outcome.taken : outcome.kept
      // Found again, because making room for one key of the batch may have moved another.
      if (state !== found[i]) write(shelfOf(policy), shelfOf(policy).find(key), key, state, step, at)
      return takenOf(outcome, at, step, takes && !step.peek)
    })
  }
  const deleteSync = (keys: readonly StateKey[]): number =>
    keys.filter(({ policy, key }) => shelves.get(policy)?.delete(key)).length
  const sum = (of: (shelf: Shelf) => number): number => [...shelves.values()].reduce((all, shelf) => all + of(shelf), 0)
  return {
    takeOneSync,
    prepareSync,
    clock,
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
    deleteAll: async (policies) => policies.reduce((sum, policy) => sum + (shelves.get(policy)?.clear() ?? 0), 0),
    get size() {
      return sum(({ size }) => size)
    },
    get forgotten() {
      return sum(({ forgotten }) => forgotten)
    },
  }
}
