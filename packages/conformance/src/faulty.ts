import type { Store, SyncStore, Taken } from '@spillway/core'

/** What is wrong with a store: nothing, it fails, it never answers, or it answers when told to. */
export type Fault = 'none' | 'failing' | 'frozen' | 'slow'

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
  const answer = <T>(work: () => T): Promise<T> => {
    calls++
    switch (fault) {
      case 'none':
        return Promise.resolve(work())
      case 'failing':
        return Promise.reject(new Error('connection lost'))
      case 'frozen':
        return new Promise(() => {})
      case 'slow':
        return new Promise((resolve) => waiting.push(() => resolve(work())))
    }
  }
  return {
    take: (ops, at) => answer((): readonly Taken[] => inner.takeSync(ops, at)),
    delete: (keys) => answer(() => inner.deleteSync(keys)),
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
