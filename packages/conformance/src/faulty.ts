import type { Micros, StateKey, Store, SyncStore, Take, Taken } from '@spillway/core'

/**
 * What is wrong with a store: nothing; it fails, each time, every other time (`'flapping'`), or for half of the keys
 * (`'partial'`); it never answers, or when told to (`'slow'`); or its clock is an hour behind (`'lying'`).
 */
export type Fault = 'none' | 'failing' | 'flapping' | 'partial' | 'frozen' | 'slow' | 'lying'

const HOUR: Micros = 3_600_000_000

/** A store that breaks on command, for tests of what an app does then. */
export interface FaultyStore extends Store {
  /** Breaks the store, or mends it, from the next call on. */
  break(fault: Fault): void
  /** Answers, late, what was asked while it was slow. */
  thaw(): Promise<void>
  /** How many calls have reached it. */
  readonly calls: number
}

/** Puts a store that can break before one that cannot. It answers with promises, as a store elsewhere does. */
export function faultyStore(inner: SyncStore): FaultyStore {
  let fault: Fault = 'none'
  let calls = 0
  const waiting: (() => void)[] = []
  const fails = (keys: readonly StateKey[]): boolean =>
    fault === 'failing' || (fault === 'flapping' && calls % 2 === 1) || (fault === 'partial' && keys.some(isOdd))
  const answer = <T>(keys: readonly StateKey[], work: () => T | Promise<T>): Promise<T> => {
    calls++
    if (fails(keys)) return Promise.reject(new Error('connection lost'))
    if (fault === 'frozen') return new Promise(() => {})
    if (fault === 'slow') return new Promise((resolve) => waiting.push(() => resolve(work())))
    return Promise.resolve(work())
  }
  const take = (ops: readonly Take[], at: Micros | undefined): readonly Taken[] =>
    inner.takeSync(ops, fault === 'lying' ? (at ?? nowOf(inner, ops)) - HOUR : at)
  return {
    take: (ops, at) => answer(ops, () => take(ops, at)),
    takeEach: (batches, at) =>
      answer(batches.flat(), () => {
        let now = at
        return batches.map((ops) => {
          const taken = take(ops, now)
          now ??= taken[0]?.now
          return taken
        })
      }),
    delete: (keys) => answer(keys, () => inner.deleteSync(keys)),
    deleteAll: (policies) => answer([], () => inner.deleteAll?.(policies) ?? 0),
    break: (next) => {
      fault = next
    },
    thaw: async () => {
      for (const go of waiting.splice(0)) go()
      // Whoever was waiting hears of it before this returns.
      await new Promise<void>((resolve) => setImmediate(resolve))
    },
    get calls() {
      return calls
    },
  }
}

/** Half of all keys, the same each time. */
const isOdd = ({ key }: StateKey): boolean =>
  [...key].reduce((sum, each) => sum + (each.codePointAt(0) ?? 0), 0) % 2 === 1

/** The time by a store's own clock, for which it is only asked to look. */
function nowOf(store: SyncStore, [op]: readonly Take[]): Micros {
  const looks = op === undefined ? [] : [{ ...op, step: { ...op.step, peek: true } }]
  return store.takeSync(looks)[0]?.now ?? HOUR
}
