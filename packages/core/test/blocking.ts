import { modelStore, START } from '@spillway/conformance'
import type { Store, Take } from '../src/index.ts'
import { remoteOnly } from './remote.ts'

export const HOUR = 3_600_000

/** The asynchronous methods of a store, which count their calls and the takes in them. */
export function remote(store: Store = modelStore(() => START)) {
  const sent: (readonly Take[])[] = []
  const counting: Store = {
    ...remoteOnly(store),
    take: (ops, ...rest) => {
      sent.push(ops)
      return store.take(ops, ...rest)
    },
    takeEach: (batches, ...rest) => Promise.all(batches.map((ops) => store.take(ops, ...rest))),
  }
  return { store: counting, sent }
}
