import { acquirer } from '../../policies/acquisition.ts'
import { SYNC_CALLS } from '../../policies/sync-calls.ts'
import type { Seams } from './seams.ts'

/** The layer of features that refund, or consume of several policies: it brings the calls of a store in memory. */
export function withCalls<R, S>(next: Seams<R, S>['store']): Seams<R, S>['store'] {
  return (options, defaultStore) => {
    const config = next(options, defaultStore)
    return config.calls === undefined ? { ...config, calls: SYNC_CALLS } : config
  }
}

/** The layer of features with several checks: all or none of their units are consumed, and spill policies are asked. */
export function acquiring<R, S>(): Seams<R, S>['enforce'] {
  return (policies) => {
    const spills = policies.some(({ spill }) => spill !== undefined)
    const configs = policies.map(({ storeConfig }) => storeConfig)
    const acquire = acquirer(configs, spills)
    return (_, checks) => (checks.length === 0 ? undefined : acquire(checks))
  }
}
