import type { Micros, PreparedTake, StateKey, Step, SyncStore, Take, Taken } from '@spillway/core'
import type { PolicyStates } from './policy-states.ts'

/** Prepares a step on the states of a policy. */
type Prepare<S extends PolicyStates> = (states: S, step: Step) => PreparedTake

/** The part of an in-memory store that consumes by prepared takes. */
export type ConsumingStore = Required<Pick<SyncStore, 'prepareSync' | 'clock'>>

/** The states of each policy. One map per policy: the hot path need not concatenate policy and key. */
export function statesOfEach<S extends PolicyStates>(
  statesByPolicy: Map<string, S>,
  newStates: () => S,
): (policy: string) => S {
  return (policy) => {
    const known = statesByPolicy.get(policy)
    if (known !== undefined) return known
    const states = newStates()
    statesByPolicy.set(policy, states)
    return states
  }
}

/**
 * What each in-memory store does: it counts. Steps are prepared for many takes, or for one.
 */
export function countingStore<S extends PolicyStates>(
  clock: () => Micros,
  statesByPolicy: Map<string, S>,
  newStates: () => S,
  prepare: Prepare<S>,
  prepareOnce: Prepare<S>,
): SyncStore {
  const statesOf = statesOfEach(statesByPolicy, newStates)
  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const takes = ops.map(({ policy, step }) => prepareOnce(statesOf(policy), step))
    const fits = takes.map((take, i) => take.look((ops[i] as Take).key, at))
    const allowed = fits.every((each) => each)
    return takes.map((take) => take.commit(allowed))
  }
  const deleteSync = (keys: readonly StateKey[]): number =>
    keys.filter(({ policy, key }) => statesByPolicy.get(policy)?.delete(key)).length
  return {
    prepareSync: (policy, step) => prepare(statesOf(policy), step),
    clock,
    takeSync,
    deleteSync,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
  }
}
