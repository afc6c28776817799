import { formatThrown, StoreError, withoutLink } from '../common/errors.ts'
import { oncePer } from '../common/once-per.ts'
import { monotonicMs } from '../common/time.ts'
import type { Store } from '../stores/store.ts'
import { scopeOf } from '../stores/store-kinds.ts'

/** How long an error explains calls that are not answered: clients reconnect more often. */
const EXPLAINS_MS = 10_000

const connections = oncePer('connection errors', (_owner: object) => ({
  error: undefined as unknown,
  atMs: -Infinity,
  silenceRemedy: '',
}))

/**
 * Keeps the error of a connection, by the owner of the scope of its stores: a client that reconnects answers calls late or
 * never, and only its events have the cause.
 */
export function setConnectionError(owner: object, error: unknown): void {
  Object.assign(connections(owner), { error, atMs: monotonicMs() })
}

/** The last error of a store's connection, if it is recent. */
export function connectionErrorOf(store: Store): unknown {
  const { error, atMs } = connections(scopeOf(store).owner)
  return monotonicMs() - atMs < EXPLAINS_MS ? error : undefined
}

/** Sets what to do if a connection goes silent, by the owner of the scope: its client keeps such a connection. */
export function setSilenceRemedy(owner: object, silenceRemedy: string): void {
  Object.assign(connections(owner), { silenceRemedy })
}

/** What to do if a store's connection has gone silent; empty if its store does not say so. */
export const silenceRemedyOf = (store: Store): string => connections(scopeOf(store).owner).silenceRemedy

/** The error of a call that was not answered in time, with the cause as far as it is known. */
export function timeoutError(store: Store, spanMs: number, late: Promise<unknown>): StoreError {
  const cause = connectionErrorOf(store)
  const why = cause === undefined ? '.' : `; the last error of its connection: ${withoutLink(formatThrown(cause))}`
  return new StoreError(`The store did not answer within ${spanMs} ms${why}`, cause, { reason: 'timeout', late })
}
