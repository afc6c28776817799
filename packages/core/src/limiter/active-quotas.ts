import { checkQuota } from '../algorithms/algorithm.ts'
import type { Decision } from '../algorithms/decision.ts'
import { blockListName, shownPolicies } from '../algorithms/penalty/block-list.ts'
import { BLOCK_LIST } from '../algorithms/penalty/block-list-quota.ts'
import type { Quota } from '../algorithms/quota-types.ts'
import type { Verb } from '../algorithms/step-options.ts'
import { checkCost, checkKey, needsUnits } from '../algorithms/verbs.ts'
import { formatValue } from '../common/errors.ts'
import { andThen, checked, type MaybePromise } from '../common/maybe-promise.ts'
import { acquirer } from '../policies/acquisition.ts'
import { type Costs, costsOf, type NamedPolicies } from '../policies/costs.ts'
import { remoteFastPath, syncFastPath } from '../policies/fast-path.ts'
import { reportPolicies } from '../policies/on-policies.ts'
import type { Policy, PolicyCheck, StoreConfig } from '../policies/policy.ts'
import { checkPolicyName } from '../policies/policy-of.ts'
import { spilling } from '../policies/spill.ts'
import { type Registration, register } from '../stores/registry.ts'
import { isSync } from '../stores/store-kinds.ts'
import { namedPolicies, type QuotaByKey, type RateLimiterOptions } from './limiter-options.ts'

/** The quotas that a limiter has in force. */
export interface ActiveQuotas {
  /** Empty if a function chooses the quota by key. */
  readonly policies: readonly Policy[]
  /** The names of all states. */
  readonly names: readonly string[]
  readonly registrations: readonly Registration[]
  /** The policies of a key. */
  readonly forKey: (key: string) => MaybePromise<NamedPolicies>
  readonly consume: Consume
}

export type Consume = (key: string, cost?: number | Costs) => MaybePromise<Decision>

/** Builds the quotas of a limiter, and registers their states instead of those of the quotas before. */
export function activate(
  options: RateLimiterOptions,
  storeConfig: StoreConfig,
  before: readonly Registration[] = [],
): ActiveQuotas {
  const { quota } = options
  return typeof quota === 'function' && options.quotas === undefined
    ? activateByKey(options, quota, storeConfig, before)
    : activateNamed(options, storeConfig, before)
}

function activateNamed(
  options: RateLimiterOptions,
  storeConfig: StoreConfig,
  before: readonly Registration[],
): ActiveQuotas {
  const { store } = storeConfig
  const named = namedPolicies(options, storeConfig)
  const { policies, targets } = named
  const isUnnamed = options.quotas === undefined && options.name === undefined
  // The block list, if there is one, is the second policy.
  const registrations = policies.map(({ name, quota }, i) => ({ store, name, isUnnamed: isUnnamed && i === 0, quota }))
  register(registrations, before)
  const { blocks } = options
  reportPolicies(
    shownPolicies(policies).map(({ name, quota }, i) => ({
      name,
      quota,
      spill: policies[targets[i] ?? -1]?.name,
      ...(blocks && { blocks }),
    })),
  )
  const names = policies.map(({ name }) => name)
  return { policies, names, registrations, forKey: () => named, consume: consumer(named, options, storeConfig) }
}

/** The quota is chosen by key: the states of all keys have one name, whatever their quotas are. */
function activateByKey(
  options: RateLimiterOptions,
  quotaByKey: QuotaByKey,
  storeConfig: StoreConfig,
  before: readonly Registration[],
): ActiveQuotas {
  const { name = 'default', blocks } = options
  const { store } = storeConfig
  checkPolicyName(name)
  const registrations = [
    { store, name, isUnnamed: options.name === undefined, quotaFunction: quotaByKey },
    ...(blocks === true ? [{ store, name: blockListName(name), quota: BLOCK_LIST }] : []),
  ]
  register(registrations, before)
  reportPolicies([{ name, quota: quotaByKey, ...(blocks && { blocks }) }])
  const known = new WeakMap<Quota, Chosen>()
  const chosenFor = checked(quotaByKey, (returned): Chosen => {
    checkQuota(`what the quota function of ${formatValue(name)} returns`, returned)
    const quota = returned as Quota
    const chosen = known.get(quota) ?? choose({ ...options, quota } as RateLimiterOptions, storeConfig)
    known.set(quota, chosen)
    return chosen
  })
  const forKey = (key: string): MaybePromise<Chosen> => chosenFor(checkKey(key))
  return {
    policies: [],
    names: registrations.map((each) => each.name),
    registrations,
    forKey,
    consume: (key, cost) => {
      const chosen = forKey(key)
      return chosen instanceof Promise ? chosen.then((quotas) => quotas.consume(key, cost)) : chosen.consume(key, cost)
    },
  }
}

/** A quota that a function has chosen, built once. */
interface Chosen extends NamedPolicies {
  readonly consume: Consume
}

function choose(options: RateLimiterOptions, storeConfig: StoreConfig): Chosen {
  const named = namedPolicies(options, storeConfig)
  return { ...named, consume: consumer(named, options, storeConfig) }
}

function consumer(named: NamedPolicies, { spill }: RateLimiterOptions, storeConfig: StoreConfig): Consume {
  const { store, thresholds } = storeConfig
  const acquire = acquirer([storeConfig], spill !== undefined)
  const general: Consume = (key, cost = 1) =>
    andThen(acquire(checksOf(named, 'consume', key, cost)), ({ decision }) => decision)
  if (thresholds !== undefined) return general
  if (!isSync(store)) return remoteFastPath(named) ?? general
  return (spill === undefined ? syncFastPath(store, named) : undefined) ?? general
}

/** The checks of a call. Throws a `QuotaError` if its key or cost is invalid. */
export function checksOf(named: NamedPolicies, verb: Verb, key: string, cost: number | Costs): readonly PolicyCheck[] {
  checkKey(key)
  const { policies, targets } = named
  const costs = costsOf(named, cost, verb)
  const checks = policies.map((policy, i): PolicyCheck | undefined =>
    costs[i] === undefined ? undefined : { policy, key, cost: checkCost(costs[i], policy.quota, verb) },
  )
  // What is named is charged and refunded itself, and a spill policy is consumed by itself if its source is left out.
  const isApart = typeof cost !== 'number' && !needsUnits(verb)
  return spilling(
    checks,
    targets.map((target, i) => (isApart || !checks[i] ? -1 : target)),
  )
}
