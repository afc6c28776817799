import { emptyAt, type Outcome, runKernel, type State, type Taken, takenOf } from './kernels/kernel.ts'
import type { StateKey, Store, SyncStore, Take } from './store.ts'
import type { Micros } from './time.ts'

/** The most keys that this process counts by itself for a store that does not answer. */
const MAX_KEYS = 10_000
/** How many keys are compared to evict one. */
const EVICTION_SAMPLE = 8

interface Entry {
  readonly state: State
  readonly emptyAt: Micros
}

/**
 * A bounded in-memory store for the time in which a remote store does not answer. When there is no room, it evicts the
 * key of a sample that is full again soonest, so that a key that is limited outlives a flood of fresh ones.
 */
export function localStore(maxKeys: number = MAX_KEYS, clock: () => Micros = () => Date.now() * 1000): SyncStore {
  const entries = new Map<string, Entry>()
  const nameOf = ({ policy, key }: StateKey): string => `${policy.length} ${policy}${key}`

  const evict = (): void => {
    const sample = [...take(entries, EVICTION_SAMPLE)]
    const [soonest] = sample.reduce((a, b) => (b[1].emptyAt < a[1].emptyAt ? b : a), sample[0] as [string, Entry])
    for (const [name, entry] of sample) {
      entries.delete(name)
      // To the end: the next sample is another one.
      if (name !== soonest) entries.set(name, entry)
    }
  }
  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const found = ops.map((op) => entries.get(nameOf(op))?.state)
    const outcomes = ops.map(({ step }, i) => runKernel(found[i], at, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    return ops.map((op, i) => {
      const { step } = op
      const outcome = outcomes[i] as Outcome
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && state !== found[i] && !step.peek) {
        if (found[i] === undefined && entries.size >= maxKeys) evict()
        entries.set(nameOf(op), { state, emptyAt: emptyAt(state, step) })
      }
      return takenOf(outcome, at, step, takes && !step.peek)
    })
  }
  const deleteSync = (keys: readonly StateKey[]): void => {
    for (const key of keys) entries.delete(nameOf(key))
  }
  return {
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
  }
}

function* take<T>(values: Iterable<T>, count: number): Iterable<T> {
  let left = count
  for (const value of values) {
    if (left-- === 0) return
    yield value
  }
}

const localStores = new WeakMap<Store, SyncStore>()

/** Where this process counts while a store does not answer: one for all limiters that use it. */
export function localStoreOf(store: Store): SyncStore {
  let known = localStores.get(store)
  if (known === undefined) {
    known = localStore()
    localStores.set(store, known)
  }
  return known
}
