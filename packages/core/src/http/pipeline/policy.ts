import { NONE } from '../../algorithms/decision-of.ts'
import type { Quota } from '../../algorithms/quota-types.ts'
import { checkPolicyName, policyOf } from '../../policies/policy-of.ts'
import { headerItem, type UnitOptions } from '../headers/header-item.ts'
import type { ChosenQuota, CompiledPolicy, PolicyBuilder } from './compiled.ts'
import type { Building } from './seams.ts'

/** The options that each policy has, as given: not checked yet. */
interface GivenOptions extends UnitOptions {
  readonly name?: string
  readonly quota: unknown
  readonly key?: unknown
}

/** Compiles the options that each policy has. */
export function plainPolicy<R, S>(
  options: object,
  { setup, storeConfig, stateName }: Building<R, S>,
): CompiledPolicy<R, S> {
  const { name = 'default', quota, key = 'ip', unit } = options as GivenOptions
  checkPolicyName(name)
  const ownName = stateName ?? name
  const build: PolicyBuilder = (quota, named = ownName) => ({
    ...policyOf(name, quota, storeConfig, named),
    item: headerItem({ name: named, quota, ...(unit && { unit }) }),
    denialFor: setup.seams.denial(named, options, quota),
  })
  const { policy, completes, registered } = setup.seams.quota(quota, build, name)
  const isUnnamed = (options as GivenOptions).name === undefined
  return {
    name: ownName,
    storeConfig,
    registrations: [{ store: storeConfig.store, name: ownName, isUnnamed, ...registered, key, match: 'all requests' }],
    policy,
    build,
    keyOf: setup.seams.key(key, setup),
    cost: 1,
    completes,
  }
}

/** The quota of all requests. */
export const plainQuota = <R, S>(option: unknown, build: PolicyBuilder): ChosenQuota<R, S> => {
  const quota = option as Quota
  return { policy: build(quota), registered: { quota, quotaFunction: 'the same for all requests' }, completes: NONE }
}
