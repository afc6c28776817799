import {
  checkOptions,
  type Micros,
  QuotaError,
  runKernel,
  type State,
  type StateKey,
  type SyncStore,
  shown,
  type Take,
  type Taken,
  takenOf,
} from '@spillway/core'
import { LRUCache } from 'lru-cache'
import { steadyClock } from './clock.ts'

export interface MemoryStoreOptions {
  /** The most keys a policy keeps; beyond it the ones used longest ago are forgotten. 100,000 unless given. */
  readonly maxKeys?: number
  /** Tells the time, in whole microseconds since 1970; for tests. */
  readonly clock?: () => Micros
}

/**
 * A store in this process: exact, synchronous, bounded, without timers. What it counts is this process's alone, and
 * gone with it.
 */
export function memoryStore(options: MemoryStoreOptions = {}): SyncStore {
  checkOptions('memoryStore', options, ['maxKeys', 'clock'])
  const { maxKeys = 100_000, clock = steadyClock() } = options
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `maxKeys must be a whole number, 1 or more; got ${shown(maxKeys)}.`)
  }
  // A shelf for each policy spares the hot path from gluing policy and key together.
  const shelves = new Map<string, LRUCache<string, State>>()
  const shelfOf = (policy: string): LRUCache<string, State> => {
    let shelf = shelves.get(policy)
    if (shelf === undefined) {
      shelf = new LRUCache({ max: maxKeys })
      shelves.set(policy, shelf)
    }
    return shelf
  }

  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const steps = ops.map(({ policy, key, step }) => {
      const shelf = shelfOf(policy)
      const found = shelf.get(key)
      return { shelf, found, outcome: runKernel(found, at, step) }
    })
    const takes = steps.every(({ outcome }) => outcome.allowed)
    return steps.map(({ shelf, found, outcome }, i) => {
      const { key, step } = ops[i] as Take
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && state !== found && !step.peek) shelf.set(key, state)
      return takenOf(outcome, at, step, takes && !step.peek)
    })
  }
  const deleteSync = (keys: readonly StateKey[]): void => {
    for (const { policy, key } of keys) shelves.get(policy)?.delete(key)
  }
  return {
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
  }
}
