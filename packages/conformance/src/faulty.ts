import {
  type Micros,
  QuotaError,
  type StateKey,
  type Store,
  type SyncStore,
  type Take,
  type Taken,
} from '@spillway/core'
import { formatValue } from '@spillway/core/internal'

const FAULTS = ['none', 'failing', 'flapping', 'partial', 'frozen', 'slow', 'lying'] as const

/**
 * The fault of a store: none; each call fails (`'failing'`), every other call (`'flapping'`), or calls for half of the
 * keys (`'partial'`); it never answers (`'frozen'`), or only after `thaw` (`'slow'`); or its clock is one hour behind
 * (`'lying'`).
 */
export type Fault = 'none' | 'failing' | 'flapping' | 'partial' | 'frozen' | 'slow' | 'lying'

const HOUR: Micros = 3_600_000_000

/** A store with injected faults, for tests of an app's failure modes. */
export interface FaultyStore extends Store {
  /** Sets the fault, from the next call on. Throws a `QuotaError` if it is unknown. */
  break(fault: Fault): void
  /** Answers the calls that arrived while the store was slow. */
  thaw(): Promise<void>
  /** The number of calls so far. */
  readonly calls: number
}

/** Wraps a store with injected faults. The result returns promises, like a remote store. */
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
      fault = checkedFault(next)
    },
    thaw: async () => {
      for (const go of waiting.splice(0)) go()
      // The waiting callers continue before this returns.
      await new Promise<void>((resolve) => setImmediate(resolve))
    },
    get calls() {
      return calls
    },
  }
}

function checkedFault(fault: Fault): Fault {
  if (FAULTS.includes(fault)) return fault
  const names = FAULTS.map((name) => `'${name}'`).join(', ')
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `the fault of a faultyStore must be one of ${names}; got ${formatValue(fault)}.`,
  )
}

/** Half of all keys, the same each time. */
const isOdd = ({ key }: StateKey): boolean =>
  [...key].reduce((sum, each) => sum + (each.codePointAt(0) ?? 0), 0) % 2 === 1

/** The time of a store's own clock, read by a peek. */
function nowOf(store: SyncStore, [op]: readonly Take[]): Micros {
  const looks = op === undefined ? [] : [{ ...op, step: { ...op.step, peek: true } }]
  return store.takeSync(looks)[0]?.now ?? HOUR
}
