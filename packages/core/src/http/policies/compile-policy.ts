import { checkQuota } from '../../algorithms/algorithm.ts'
import { BLOCK_LIST } from '../../algorithms/block-list.ts'
import { formatValue, QuotaError } from '../../common/errors.ts'
import { inTime } from '../../common/in-time.ts'
import { checked, type MaybePromise } from '../../common/maybe-promise.ts'
import { checkBoolean, checkFunctions, checkOptions, hintOfPeer } from '../../common/options.ts'
import { micros } from '../../common/time.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { checkCount } from '../../policies/count.ts'
import { checkPolicyName, type Policy, policyOf, type StoreConfig } from '../../policies/policy.ts'
import { checkSpills, type Targets } from '../../policies/spill-targets.ts'
import { namesOf, shadowName } from '../../policies/state-names.ts'
import { blockListName } from '../../quotas/block-list.ts'
import type { Quota } from '../../quotas/quota-types.ts'
import { checkTiers } from '../../quotas/tiers.ts'
import { onStore } from '../../remote/store-config.ts'
import { maxUnits } from '../../steps/verbs.ts'
import { checkStoreError } from '../../stores/failure-mode.ts'
import type { Registration } from '../../stores/registry.ts'
import type { DeniedOption } from '../headers/denied.ts'
import { checkUnit, type HeaderItem, headerItem } from '../headers/header-item.ts'
import { type PartitionReader, partitionReader } from '../headers/partition.ts'
import { checkProblem, type DenialBuilder, denialBuilder, problemOf } from '../headers/problem.ts'
import { keyTextOf } from '../keys/key-text.ts'
import type { Read, RequestSources } from '../keys/request-sources.ts'
import { keyReader } from '../keys/selectors.ts'
import { checkCounts, checkReturnedActual } from '../requests/returned.ts'
import { statusTest } from '../requests/status-test.ts'
import { matcher } from './match.ts'
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options.ts'
import { type CostOptions, costReader } from './request-cost.ts'

/** A policy, with the parts of its headers that are the same for every request. */
export interface HttpPolicy extends Policy {
  readonly item: HeaderItem
  readonly denialFor: DenialBuilder
}

/** A policy's options, compiled. */
export interface CompiledPolicy<R, S> {
  /** The index of the policy that this one spills over to; -1 without one. */
  readonly target: number
  /** The name of its states in the store: of a shadow policy `NAME (shadow)`. */
  readonly name: string
  readonly mode: 'enforce' | 'shadow'
  /** The group of tiers of which a request has one. */
  readonly tiers?: string
  readonly registration: Registration
  /** The policy of its block list. */
  readonly blockList: HttpPolicy | undefined
  readonly storeConfig: StoreConfig
  /** The policy with the quota of a request. */
  readonly policyFor: (request: R) => MaybePromise<HttpPolicy>
  /** The policy with a quota. Throws a QuotaError for any other value. */
  readonly withQuota: (quota: Quota) => HttpPolicy
  /** The key of the texts of its parts. */
  readonly keyText: (key: unknown) => string
  readonly applies: Read<R, boolean> | undefined
  /** Of a tier, whether it applies to a path with empty parameters if no tier of its group applies to it as it is. */
  readonly appliesToEmpty: Read<R, boolean> | undefined
  readonly keyOf: Read<R, string | undefined>
  readonly costOf: Read<R, number>
  /** Undefined without a `partition` option, and for shadow policies, which headers do not report. */
  readonly partitionOf: PartitionReader | undefined
  readonly settle: ((response: S) => MaybePromise<number>) | undefined
  readonly countIf: ((status: number) => MaybePromise<boolean>) | undefined
  readonly onDenied: DeniedOption<R, never> | undefined
}

/** Compiles policies. Throws a QuotaError if two have one name. */
export function compilePolicies<R, S>(
  policies: readonly PolicyOptions<R, S>[],
  requestSources: RequestSources<R>,
  storeConfig: StoreConfig,
): readonly CompiledPolicy<R, S>[] {
  if (!Array.isArray(policies)) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `policies must be a list of policies; got ${formatValue(policies)}.`)
  }
  checkCount('policies', policies.length)
  // A list with holes has policies that are undefined.
  const compiledPolicies = Array.from(policies, (each) => compilePolicy(each, requestSources, storeConfig))
  const names = policies.flatMap(namesOf)
  const seen = new Set<string>()
  const twice = names.find((name) => seen.has(name) || !seen.add(name))
  if (names.length > 0 && twice === undefined) {
    checkTiers(policies)
    const targets = targetsOf(policies)
    return compiledPolicies.map((compiled, i) => ({ ...compiled, target: targets[i] as number }))
  }
  const problem = names.length === 0 ? 'policies is empty.' : `two policies are named ${formatValue(twice)}.`
  throw new QuotaError('ERR_SPILLWAY_OPTION', `rateLimit: ${problem} Give it policies with a name each.`)
}

function targetsOf(policies: readonly Pick<PolicyOptions<never>, 'name' | 'spill' | 'mode'>[]): Targets {
  checkSpills(policies)
  const places = new Map(policies.map(({ name = 'default' }, i) => [name, i]))
  return policies.map(({ spill }) => (spill === undefined ? -1 : (places.get(spill) ?? -1)))
}

function compilePolicy<R, S>(
  options: PolicyOptions<R, S>,
  requestSources: RequestSources<R>,
  storeConfig: StoreConfig,
): Omit<CompiledPolicy<R, S>, 'target'> {
  checkOptions('a policy', options, POLICY_OPTIONS, (option) => hintOfPeer(option, POLICY_OPTIONS))
  checkFunctions(options, ['settle', 'onDenied', 'partition'])
  checkUnit(options.unit)
  checkProblem(options.problem)
  const { name = 'default', quota, key = 'ip', mode = 'enforce', settle, unit, partition } = options
  if (mode !== 'enforce' && mode !== 'shadow') {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `mode must be 'enforce' or 'shadow'; got ${formatValue(mode)}.`)
  }
  checkPolicyName(name)
  const shadow = mode === 'shadow'
  const stateName = shadow ? shadowName(name) : name
  const ownConfig = ownStoreConfig(options, storeConfig)
  const build = (quota: Quota, named: string = stateName): HttpPolicy => ({
    ...policyOf(name, quota, ownConfig, named),
    item: headerItem({ name: named, quota, ...(unit && { unit }) }),
    denialFor: denialBuilder(named, options.problem ?? problemOf(quota)),
  })
  const withQuota = oncePerQuota(name, build)
  const policyFor = policyReader(quota, build, withQuota)
  const costOf = costReader(options, requestSources)
  if (typeof quota !== 'function') warnOfCost(name, quota, options, storeConfig.logger)
  return {
    name: stateName,
    mode,
    ...(options.tiers !== undefined && { tiers: options.tiers }),
    registration: {
      store: ownConfig.store,
      name: stateName,
      isUnnamed: options.name === undefined,
      ...(typeof quota === 'function'
        ? { quotaFunction: quota }
        : { quota, quotaFunction: 'the same for all requests' }),
      key,
      match: options.match ?? 'all requests',
    },
    blockList: checkBoolean('blocks', options.blocks) ? build(BLOCK_LIST, blockListName(stateName)) : undefined,
    storeConfig: ownConfig,
    policyFor,
    withQuota,
    keyText: keyTextOf(key, requestSources.ipv6Prefix),
    applies: matcher('match', options.match, requestSources, options.tiers === undefined),
    appliesToEmpty: options.tiers === undefined ? undefined : emptyMatcher(options.match, requestSources),
    keyOf: keyReader(key, requestSources),
    costOf,
    partitionOf: partition && !shadow ? partitionReader(partition, storeConfig.logger) : undefined,
    settle: settle && checked(settle, checkReturnedActual),
    countIf: statusTest('countIf', options.countIf, checkCounts),
    onDenied: options.onDenied as DeniedOption<R, never> | undefined,
  }
}

/** The limiter's store and failure mode, but for what the policy sets itself. */
const ownStoreConfig = <R, S>(
  { store, deadline, onStoreError }: PolicyOptions<R, S>,
  storeConfig: StoreConfig,
): StoreConfig => ({
  ...(store === undefined ? storeConfig : onStore(store, storeConfig)),
  ...(deadline !== undefined && { deadline: micros(deadline, 'deadline') }),
  ...(onStoreError !== undefined && { onStoreError: checkStoreError(onStoreError) }),
})

/** Warns of a cost that is more than the quota ever allows at once: such requests are always denied. */
function warnOfCost<R>(
  name: string,
  quota: Quota,
  { cost, defaultCost, maxCost }: CostOptions<R>,
  logger: Logger,
): void {
  const most = maxUnits(quota)
  // No other cost is allowed either.
  if (most === 0) return
  for (const [option, units] of Object.entries({ cost, defaultCost, maxCost })) {
    // A default above maxCost is maxCost.
    if (typeof units !== 'number' || Math.min(units, maxCost ?? units) <= most) continue
    warnOnce(
      logger,
      'WARN_SPILLWAY_ALWAYS_DENIED',
      'a request is always denied: ',
      `policy ${formatValue(name)} never allows more than ${most} units at once, but its ${option} is ${units}. Lower ${option}, or raise the quota's burst.`,
    )
  }
}

function policyReader<R>(
  quota: PolicyOptions<R>['quota'],
  build: (quota: Quota) => HttpPolicy,
  withQuota: (quota: Quota) => HttpPolicy,
): CompiledPolicy<R, unknown>['policyFor'] {
  if (typeof quota === 'function')
    return checked(quota, withQuota as (returned: unknown) => HttpPolicy, inTime('quota'))
  const policy = build(quota)
  return () => policy
}

/** The test of a path with empty parameters, which a function and other conditions than a path do not distinguish. */
const emptyMatcher = <R, S>(
  match: PolicyOptions<R, S>['match'],
  requestSources: RequestSources<R>,
): Read<R, boolean> | undefined =>
  [match].flat().some((each) => typeof each === 'object' && each.path !== undefined) &&
  requestSources.reader.hasEmptyParameters !== undefined
    ? matcher('match', match, requestSources)
    : undefined

/** Builds the policy with a quota once per quota. Throws a QuotaError for any other value. */
function oncePerQuota(name: string, build: (quota: Quota) => HttpPolicy): (quota: Quota) => HttpPolicy {
  const policies = new WeakMap<Quota, HttpPolicy>()
  return (quota) => {
    const known = policies.get(quota)
    if (known) return known
    checkQuota(`what the quota function of policy ${formatValue(name)} returns`, quota)
    const policy = build(quota)
    policies.set(quota, policy)
    return policy
  }
}
