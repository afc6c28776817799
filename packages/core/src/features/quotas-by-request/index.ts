import { checkQuota } from '../../algorithms/algorithm.ts'
import type { Decision } from '../../algorithms/decision.ts'
import { lookupActionOf } from '../../algorithms/degraded-quota.ts'
import type { Quota } from '../../algorithms/quota-types.ts'
import { formatValue } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { type Awaitable, andThen, checked, type MaybePromise } from '../../common/maybe-promise.ts'
import type { Complete, HttpPolicy, PolicyBuilder } from '../../http/pipeline/compiled.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED, type Draft } from '../../http/pipeline/verdict.ts'
import type { Acquisition } from '../../policies/policy.ts'

/** The quota of a policy, also by a function. */
export interface QuotaOptions<R> {
  /**
   * The units per period, such as `perMinute(100)`, or a function that returns the quota of a request, such as that of
   * its user's plan.
   */
  readonly quota: Quota | ((request: R) => Awaitable<Quota>)
}

/** The types of its options. */
export interface QuotaTypes extends OptionTypes {
  readonly policy: QuotaOptions<this['request']>
}

/** `quota` as a function: the quota of a request, such as that of its user's plan. */
export const quotasByRequest: Feature<QuotaTypes> = { name: 'quotasByRequest', layers: { quota, verdict } }

function quota<R, S>(next: Seams<R, S>['quota']): Seams<R, S>['quota'] {
  return (option, build, name) => {
    if (typeof option !== 'function') return next(option, build, name)
    const withQuota = oncePerQuota(name, build)
    const policyFor = checked(option as (request: R) => unknown, withQuota, inTime('quota'))
    return { policy: undefined, registered: { quotaFunction: option }, completes: [choosing(policyFor)] }
  }
}

const choosing =
  <R, S>(policyFor: (request: R) => MaybePromise<HttpPolicy>): Complete<R, S> =>
  (check, { request }) =>
    andThen(policyFor(request), (known) => {
      check.policy = known
    })

/** Builds the policy with a quota once per quota. Throws a QuotaError for any other value. */
export function oncePerQuota(name: string, build: PolicyBuilder): (quota: unknown) => HttpPolicy {
  const policies = new WeakMap<Quota, HttpPolicy>()
  return (returned) => {
    const quota = returned as Quota
    const known = policies.get(quota)
    if (known) return known
    checkQuota(`what the quota function of policy ${formatValue(name)} returns`, quota)
    const policy = build(quota)
    policies.set(quota, policy)
    return policy
  }
}

/** Reports the failure of a lookup that has chosen a quota. */
function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const judge = next(policies, setup)
    if (policies.every(({ policy }) => policy !== undefined)) return judge
    return (parts, acquisition): Draft<S> => {
      const draft = judge(parts, acquisition)
      if (acquisition === undefined || acquisition === CLOSED) return draft
      draft.decision = withLookupFailure(acquisition) as Draft<S>['decision']
      return draft
    }
  }
}

/** The decision, with the failure of a lookup that has chosen a quota. A failure of the store is more severe. */
function withLookupFailure({ checks, decision }: Acquisition): Decision {
  if (decision.degraded) return decision
  for (const { policy } of checks) {
    const action = lookupActionOf(policy.quota)
    if (action !== undefined) return { ...decision, degraded: { reason: 'lookup', action } }
  }
  return decision
}
