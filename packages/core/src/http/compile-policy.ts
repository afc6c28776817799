import { BLOCK_LIST, blockListName } from '../block-list.ts'
import { formatValue, QuotaError } from '../errors.ts'
import { checkStoreError } from '../failure-mode.ts'
import { andThen, checked, type MaybePromise, maybePromise } from '../maybe-promise.ts'
import { checkBoolean, checkFunctions, checkOptions, hintOfQuota } from '../options.ts'
import { checkPolicyName, type Policy, policyOf } from '../policy.ts'
import { nonQuota } from '../quota-checks.ts'
import type { Quota } from '../quota-types.ts'
import type { Registration } from '../registry.ts'
import { checkSpills, type Targets } from '../spill.ts'
import { checkStore, type StoreConfig } from '../store-config.ts'
import { checkTiers } from '../tiers.ts'
import { micros } from '../time.ts'
import { maxUnits } from '../verbs.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { countedStatuses } from './counted-statuses.ts'
import type { DeniedOption } from './denied.ts'
import { checkUnit, type HeaderItem, headerItem } from './fields.ts'
import { keyTextOf } from './key-text.ts'
import { matcher } from './match.ts'
import { type PartitionReader, partitionReader } from './partition.ts'
import { POLICY_OPTIONS, type PolicyOptions } from './policy-options.ts'
import { checkProblem, type DenialBuilder, denialBuilder, problemOf } from './problem.ts'
import type { Read, RequestSources } from './request-sources.ts'
import { checkReturnedActual } from './returned.ts'
import { type CostOptions, costReader, keyReader } from './selectors.ts'

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
  readonly policyFor: (request: R) => MaybePromise<HttpPolicy>
  /** The policy with a quota. Throws a QuotaError for any other value. */
  readonly policyOf: (quota: Quota) => HttpPolicy
  /** The key of the texts of its parts. */
  readonly keyText: (key: unknown) => string
  readonly applies: Read<R, boolean> | undefined
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
  // A list with holes has policies that are undefined.
  const compiledPolicies = Array.from(policies, (each) => compilePolicy(each, requestSources, storeConfig))
  const names = policies.flatMap(({ name = 'default', mode }) =>
    mode === 'shadow' ? [name, shadowName(name)] : [name],
  )
  const twice = names.find((name, i) => names.indexOf(name) !== i)
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
  return policies.map(({ spill }) => policies.findIndex(({ name = 'default' }) => name === spill))
}

function compilePolicy<R, S>(
  options: PolicyOptions<R, S>,
  requestSources: RequestSources<R>,
  storeConfig: StoreConfig,
): Omit<CompiledPolicy<R, S>, 'target'> {
  checkOptions('a policy', options, POLICY_OPTIONS, hintOfQuota)
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
  const at = {
    ...storeConfig,
    store: options.store === undefined ? storeConfig.store : checkStore(options.store, storeConfig.logger),
    deadline: options.deadline === undefined ? storeConfig.deadline : micros(options.deadline, 'deadline'),
    onStoreError: options.onStoreError === undefined ? storeConfig.onStoreError : checkStoreError(options.onStoreError),
  }
  const policyFor = (quota: Quota, own: string = stateName): HttpPolicy => ({
    ...policyOf(name, quota, at, own),
    item: headerItem({ name: own, quota, ...(unit && { unit }) }),
    denialFor: denialBuilder(own, options.problem ?? problemOf(quota)),
  })
  const tierOf = tiersBy(name, policyFor)
  const pick = quotaPicker(quota, policyFor, tierOf)
  if (typeof quota !== 'function') warnOfCost(name, quota, options, storeConfig.logger)
  return {
    name: stateName,
    mode,
    ...(options.tiers !== undefined && { tiers: options.tiers }),
    registration: {
      store: at.store,
      name: stateName,
      ...(typeof quota === 'function'
        ? { quotaFunction: quota }
        : { quota, quotaFunction: 'the same for all requests' }),
      key,
      match: options.match ?? 'all requests',
    },
    blockList: checkBoolean('blocks', options.blocks) ? policyFor(BLOCK_LIST, blockListName(stateName)) : undefined,
    storeConfig: at,
    policyFor: pick,
    policyOf: tierOf,
    keyText: keyTextOf(key, requestSources.ipv6Prefix),
    applies: matcher('match', options.match, requestSources),
    keyOf: keyReader(key, requestSources),
    costOf: costReader(options, requestSources.reader),
    partitionOf: partition && !shadow ? partitionReader(partition, storeConfig.logger) : undefined,
    settle: settle && checked(settle, checkReturnedActual),
    countIf: countedStatuses(options.countIf),
    onDenied: options.onDenied as DeniedOption<R, never> | undefined,
  }
}

/** Warns of a cost that is more than the quota ever allows at once: such requests are always denied. */
function warnOfCost<R>(
  name: string,
  quota: Quota,
  { cost, defaultCost, maxCost }: CostOptions<R>,
  logger: Logger,
): void {
  const most = maxUnits(quota)
  for (const [option, units] of Object.entries({ cost, defaultCost, maxCost })) {
    if (typeof units !== 'number' || units <= most) continue
    warnOnce(
      logger,
      'WARN_SPILLWAY_ALWAYS_DENIED',
      'a request is always denied: ',
      `policy ${formatValue(name)} never allows more than ${most} units at once, but its ${option} is ${units}. Lower ${option}, or raise the quota's burst.`,
    )
  }
}

/** The name of a shadow policy's states: it must not consume units of the policy that it will replace. */
export const shadowName = (name: string): string => `${name} (shadow)`

function quotaPicker<R>(
  quota: PolicyOptions<R>['quota'],
  policyFor: (quota: Quota) => HttpPolicy,
  tierOf: (tier: Quota) => HttpPolicy,
): (request: R) => MaybePromise<HttpPolicy> {
  if (typeof quota === 'function') return (request) => andThen(maybePromise(quota(request)), tierOf)
  const policy = policyFor(quota)
  return () => policy
}

/** The policies of the quotas that a function returns, each built once. */
function tiersBy(name: string, policyFor: (quota: Quota) => HttpPolicy): (tier: Quota) => HttpPolicy {
  const tiers = new WeakMap<Quota, HttpPolicy>()
  return (tier) => {
    const known = tiers.get(tier)
    if (known) return known
    const problem = nonQuota(tier)
    if (problem !== undefined) {
      throw new QuotaError(
        'ERR_SPILLWAY_QUOTA',
        `the quota function of policy ${formatValue(name)} must return a quota such as perMinute(100); ${problem}`,
      )
    }
    const policy = policyFor(tier)
    tiers.set(tier, policy)
    return policy
  }
}
