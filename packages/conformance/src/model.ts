import {
  type ListedState,
  type Micros,
  type Outcome,
  runKernel,
  type State,
  type StateKey,
  type Step,
  type SyncStore,
  type Take,
  type Taken,
  takenOf,
} from '@spillway/core'

/** Throws if a step has part of a microsecond, which databases do not take for a whole number. */
function checkWhole(step: object): void {
  for (const [name, value] of Object.entries(step)) {
    if (typeof value === 'object' && value !== null) checkWhole(value)
    else if (typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value))
      throw new RangeError(`steps are of whole numbers; ${name} is ${value}`)
  }
}

/**
 * Returns the reference store: a map without eviction, and the kernels. Its results are correct by definition, and other
 * stores are compared with it.
 */
export function modelStore(clock: () => Micros): SyncStore {
  const states = new Map<string, State>()
  const nameOf = ({ policy, key }: StateKey): string => JSON.stringify([policy, key])

  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    for (const { step } of ops) checkWhole(step)
    const outcomes = ops.map((op) => runKernel(states.get(nameOf(op)), at, op.step))
    const takes = outcomes.every((outcome) => outcome.allowed)
    return ops.map((op, i) => {
      const outcome = outcomes[i] as Outcome
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && !op.step.peek) states.set(nameOf(op), state)
      return takenOf(outcome, at, op.step, takes && !op.step.peek)
    })
  }
  const deleteSync = (keys: readonly StateKey[]): number => keys.filter((key) => states.delete(nameOf(key))).length
  const deleteAll = async (policies: readonly string[]): Promise<number> => {
    const before = states.size
    for (const name of states.keys()) if (policies.includes(JSON.parse(name)[0])) states.delete(name)
    return before - states.size
  }
  async function* list(policy: string, step: Step): AsyncGenerator<readonly ListedState[]> {
    for (const [name, state] of states) {
      const [named, key] = JSON.parse(name) as [string, string]
      const at = clock()
      if (named === policy)
        yield [{ key, isDigest: false, taken: takenOf(runKernel(state, at, step), at, step, false) }]
    }
  }
  return {
    takeSync,
    deleteSync,
    deleteAll,
    list,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
  }
}
