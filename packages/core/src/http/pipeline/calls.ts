import { acquire } from '../../checks/acquisition.ts'
import { SYNC_CALLS } from '../../checks/sync-calls.ts'
import type { RequestParts } from '../requests/parts.ts'
import type { HttpCheck } from './compiled.ts'
import type { Enforce, Seams } from './seams.ts'

/** The layer of features that refund, or consume of several policies: it brings the calls of a store in memory. */
export function withCalls<R, S>(next: Seams<R, S>['store']): Seams<R, S>['store'] {
  return (options, defaultStore) => {
    const config = next(options, defaultStore)
    return config.calls === undefined ? { ...config, calls: SYNC_CALLS } : config
  }
}

/** The layer of features with several checks: all or none of their units are consumed, and spill policies are asked. */
export function acquiring<R, S>(): Seams<R, S>['enforce'] {
  return () => acquireAll
}

function acquireAll<R, S>(_: RequestParts<R>, checks: readonly HttpCheck<R, S>[]): ReturnType<Enforce<R, S>> {
  return checks.length === 0 ? undefined : acquire('consume', checks)
}
