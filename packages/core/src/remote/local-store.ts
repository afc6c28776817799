import { emptyAt, runKernel, takenOf } from '../algorithms/algorithm.ts'
import { oncePer } from '../common/once-per.ts'
import type { Micros } from '../common/time.ts'
import type { Outcome, State, Taken } from '../kernels/kernel.ts'
import { leastUsed, refillTime, unitTime } from '../kernels/refill.ts'
import { stateNamer } from '../stores/state-name.ts'
import type { StateKey, Store, SyncStore, Take } from '../stores/store.ts'

/** The most keys in the local store. */
const MAX_KEYS = 10_000

interface Entry {
  readonly policy: string
  readonly name: string
  readonly state: State
  readonly emptyAt: Micros
  readonly unit: Micros
}

/** A store in this process that can list its states. */
export type LocalStore = SyncStore & Required<Pick<Store, 'deleteAll'>>

/**
 * A bounded in-memory store for the time in which a remote store does not answer. When it is full, it evicts the least used
 * key of a sample, so that a flood of new keys does not evict keys that are limited.
 */
export function localStore(maxKeys: number = MAX_KEYS, clock: () => Micros = () => Date.now() * 1000): LocalStore {
  const entries: Entry[] = []
  const places = new Map<string, number>()
  const nameOf = stateNamer()
  let hand = 0

  const stateOf = (op: StateKey): State | undefined => entries[places.get(nameOf(op)) ?? -1]?.state
  const evict = (entry: Entry, now: Micros): number => {
    const next = (): number => {
      hand = (hand + 1) % entries.length
      return hand
    }
    const timeOf = ({ state, emptyAt, unit }: Entry): Micros => refillTime(state, emptyAt, unit, now)
    const place = leastUsed(entries.length, next, (each) => timeOf(entries[each] as Entry), timeOf(entry))
    places.delete((entries[place] as Entry).name)
    return place
  }
  const write = (entry: Entry, now: Micros): void => {
    const place = places.get(entry.name) ?? (entries.length < maxKeys ? entries.length : evict(entry, now))
    entries[place] = entry
    places.set(entry.name, place)
  }
  const remove = (name: string): boolean => {
    const place = places.get(name)
    const last = entries.at(-1)
    if (place === undefined || last === undefined) return false
    entries[place] = last
    places.set(last.name, place)
    entries.pop()
    return places.delete(name)
  }
  const takeSync = (ops: readonly Take[], at: Micros = clock()): readonly Taken[] => {
    const found = ops.map(stateOf)
    const outcomes = ops.map(({ step }, i) => runKernel(found[i], at, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    return ops.map((op, i) => {
      const { step } = op
      const outcome = outcomes[i] as Outcome
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && state !== found[i] && !step.peek) {
        write({ policy: op.policy, name: nameOf(op), state, emptyAt: emptyAt(state, step), unit: unitTime(step) }, at)
      }
      return takenOf(outcome, at, step, takes && !step.peek)
    })
  }
  const deleteSync = (keys: readonly StateKey[]): number => keys.filter((key) => remove(nameOf(key))).length
  const deleteAll = async (policies: readonly string[]): Promise<number> =>
    entries.filter(({ policy }) => policies.includes(policy)).filter(({ name }) => remove(name)).length
  return {
    takeSync,
    deleteSync,
    deleteAll,
    take: async (ops, at) => takeSync(ops, at),
    delete: async (keys) => deleteSync(keys),
  }
}

/** The local store that counts while a store does not answer: one for all limiters on that store. */
export const localStoreOf: (store: Store) => LocalStore = oncePer('local stores', () => localStore())
