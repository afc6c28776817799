import { formatValue, QuotaError } from '../common/errors.ts'
import { processState } from '../common/process-state.ts'
import type { Policy, StoreConfig } from '../policies/policy.ts'
import type { ActiveQuotas, checksOf } from './active-quotas.ts'
import type { QuotaOptions } from './limiter-options.ts'

/** What the verbs of a limiter work with. */
export interface LimiterInternals {
  readonly storeConfig: StoreConfig
  /** The quotas in force. */
  readonly active: () => Pick<ActiveQuotas, 'policies' | 'names' | 'forKey'>
  readonly checksOf: typeof checksOf
  /** Absent if the limiter keeps its quotas. */
  readonly replace?: (quotas: QuotaOptions) => void
}

/** The internals of limiters. Of one that only consumes, its policy: a verb that it has not adds the rest. */
export const internals = (): WeakMap<object, LimiterInternals | { readonly policy: Policy }> =>
  processState('internals of limiters', () => new WeakMap())

/** The error of a value that is no limiter. */
export const notALimiter = (call: string, got: unknown): QuotaError =>
  new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `${call} takes a limiter that rateLimiter has built; got ${formatValue(got)} for a limiter.`,
  )
