import { oncePer } from '../common/once-per.ts'
import { isObject } from '../common/options.ts'
import type { Quota } from './quota-types.ts'

/** How a quota was chosen while a lookup failed: by the last known value, or by the default. */
export type LookupAction = 'stale' | 'default'

const ACTION = Symbol.for('spillway.lookup-action')

const marked = (quota: Quota, action: LookupAction): Quota => Object.freeze({ ...quota, [ACTION]: action })

/** One of each per quota: policies are compiled once per quota. */
const degradedOf = oncePer('degraded quotas', (quota: Quota) => ({
  stale: marked(quota, 'stale'),
  default: marked(quota, 'default'),
}))

/**
 * A quota whose decisions report that the lookup that chose it has failed. Its numbers and states are the same. What is no
 * quota stays as it is: limiters report it.
 */
export const degradedQuota = (quota: Quota, action: LookupAction): Quota =>
  isObject(quota) ? degradedOf(quota)[action] : quota

/** How a quota was chosen; undefined if no lookup has failed. */
export const lookupActionOf = (quota: Quota): LookupAction | undefined =>
  (quota as { readonly [ACTION]?: LookupAction })[ACTION]
