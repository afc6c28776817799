import { oncePer } from '../common/once-per.ts'
import type { Policy } from '../policies/policy.ts'
import { SYNC_CALLS } from '../policies/sync-calls.ts'
import { checksOf } from './active-quotas.ts'
import { internals, type LimiterInternals } from './internals.ts'

/** The internals of a limiter, full or lean; undefined for another value. */
export function internalsOf(limiter: unknown): LimiterInternals | undefined {
  const known = internals().get(limiter as object)
  return known !== undefined && 'policy' in known ? withVerbs(known.policy) : known
}

/** A policy of a limiter that only consumes has no calls to an in-memory store: none of its own methods need them. */
const withVerbs = oncePer('lean internals', (lean: Policy): LimiterInternals => {
  const storeConfig = { ...lean.storeConfig, calls: lean.storeConfig.calls ?? SYNC_CALLS }
  const policy = { ...lean, storeConfig }
  const active = { policies: [policy], names: [policy.name] }
  const named = { ...active, targets: [-1] }
  return { storeConfig, checksOf, active: () => ({ ...active, forKey: () => named }) }
})
