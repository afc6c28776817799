import { type RateLimiter, rateLimiter, type Store } from '@spillway/core'
import type { RulePolicy } from '@spillway/core/rules'
import { ASKING } from './connect.ts'

/** The name of a policy's states in the middleware. */
export const stateName = ({ name, mode }: RulePolicy): string => (mode === 'shadow' ? `${name} (shadow)` : name)

/** The limiter of a policy over a live store. */
export const limiterOf = (policy: RulePolicy, store: Store): RateLimiter =>
  rateLimiter({ name: stateName(policy), quota: policy.quota, blocks: policy.blocks ?? false, store, ...ASKING })
