import { SYNC_CALLS } from '../../checks/sync-calls.ts'
import type { Seams } from './seams.ts'

/** The layer of features that refund, or consume of several policies: it brings the calls of a store in memory. */
export function withCalls<R, S>(next: Seams<R, S>['store']): Seams<R, S>['store'] {
  return (options, defaultStore) => {
    const config = next(options, defaultStore)
    return config.calls === undefined ? { ...config, calls: SYNC_CALLS } : config
  }
}
