import { QuotaError, shown } from '../errors.ts'
import { checkStoreError, type StoreErrorOption } from '../failure-mode.ts'
import { type Awaitable, andThen, checked, type MaybePromise, settled } from '../maybe-promise.ts'
import { checkFunctions, checkOptions } from '../options.ts'
import { isQuota, policyOf } from '../policy.ts'
import type { Quota } from '../quota.ts'
import type { Registration } from '../registry.ts'
import { checkStore, type Source } from '../source.ts'
import { checkSpills, type Targets } from '../spill.ts'
import type { Store } from '../store.ts'
import { type Duration, micros } from '../time.ts'
import { mostOf } from '../verbs.ts'
import { type Logger, warnOnce } from '../warn.ts'
import type { DeniedOption, RefusalOptions } from './denied.ts'
import { checkUnit, headerItem, type PartitionReader, partitionReader, type ToldOptions } from './fields.ts'
import { type MatchOption, matcher } from './match.ts'
import { checkProblem, type Refuser, refuserOf } from './problem.ts'
import { checkReturnedActual } from './returned.ts'
import { type CostOptions, costReader, type KeyOption, keyReader } from './selectors.ts'
import type { Read, Sources } from './sources.ts'
import type { ToldPolicy } from './teller.ts'

/** A named quota, with the clients and requests that it counts and the cost of a request. */
export interface PolicyOptions<R, S = unknown, Name extends string = string, A = S>
  extends CostOptions<R>,
    ToldOptions,
    RefusalOptions<R, A, Name> {
  /**
   * The policy's name in headers, problem documents and decisions, and part of its state's name in the store.
   * @default `'default'`
   */
  readonly name?: Name
  /**
   * The units per period, such as `perMinute(100)`, or a function that returns the quota of a request, such as that of
   * its user's plan.
   */
  readonly quota: Quota | ((request: R) => Awaitable<Quota>)
  /**
   * The client that a request counts for: a selector such as `'ip'` or `'header:x-api-key'`, a list of selectors, or a
   * function.
   * @default `'ip'`
   */
  readonly key?: KeyOption<R>
  /**
   * The requests that the policy applies to.
   * @default all requests
   */
  readonly match?: MatchOption<R>
  /**
   * `'shadow'` counts and reports, in a state of its own, but never denies.
   * @default `'enforce'`
   */
  readonly mode?: 'enforce' | 'shadow'
  /**
   * The store of this policy's counts.
   * @default the limiter's `store`
   */
  readonly store?: Store
  /**
   * The time to wait for a remote store. Policies that one store checks together share the shortest deadline.
   * @default the limiter's `deadline`
   */
  readonly deadline?: Duration
  /**
   * The decision while the store does not answer.
   * @default the limiter's `onStoreError`
   */
  readonly onStoreError?: StoreErrorOption
  /**
   * The name of the policy that is drawn upon only if this one is empty: if this one denies a request, its units are
   * consumed from that one instead.
   * @default none
   */
  readonly spill?: NoInfer<Name>
  /**
   * Returns the actual cost, read from the response. The units consumed are corrected to it: the rest is refunded, or
   * more is charged.
   * @default none
   */
  readonly settle?: (response: S) => Awaitable<number>
}

export const POLICY_OPTIONS: readonly string[] = [
  'name',
  'quota',
  'key',
  'match',
  'mode',
  'cost',
  'defaultCost',
  'maxCost',
  'settle',
  'problem',
  'onDenied',
  'unit',
  'partition',
  'store',
  'deadline',
  'onStoreError',
  'spill',
]

/** A policy's options, compiled. */
export interface Rule<R, S> {
  /** The index of the policy that this one spills over to; -1 without one. */
  readonly target: number
  /** The name of its states in the store: of a shadow policy `NAME (shadow)`. */
  readonly name: string
  readonly shadow: boolean
  readonly registration: Registration
  readonly policyFor: (request: R) => MaybePromise<ToldPolicy>
  readonly applies: Read<R, boolean> | undefined
  readonly keyOf: Read<R, string | undefined>
  readonly costOf: Read<R, number>
  /** Undefined without a `partition` option, and for shadow policies, which headers do not report. */
  readonly partitionOf: PartitionReader | undefined
  readonly settle: ((response: S) => MaybePromise<number>) | undefined
  readonly refuse: Refuser
  readonly onDenied: DeniedOption<R, never> | undefined
}

/** Compiles policies. Throws a QuotaError if two have one name. */
export function rulesOf<R, S>(
  policies: readonly PolicyOptions<R, S>[],
  sources: Sources<R>,
  source: Source,
): readonly Rule<R, S>[] {
  if (!Array.isArray(policies)) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `policies must be a list of policies; got ${shown(policies)}.`)
  }
  const rules = policies.map((each) => ruleOf(each, sources, source))
  const names = policies.flatMap(({ name = 'default', mode }) => (mode === 'shadow' ? [name, shadowOf(name)] : [name]))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (names.length > 0 && twice === undefined) {
    const targets = targetsOf(policies)
    return rules.map((rule, i) => ({ ...rule, target: targets[i] as number }))
  }
  const problem = names.length === 0 ? 'policies is empty.' : `two policies are named ${shown(twice)}.`
  throw new QuotaError('ERR_SPILLWAY_OPTION', `rateLimit: ${problem} Give it policies with a name each.`)
}

function targetsOf(policies: readonly Pick<PolicyOptions<never>, 'name' | 'spill' | 'mode'>[]): Targets {
  checkSpills(policies)
  return policies.map(({ spill }) => policies.findIndex(({ name = 'default' }) => name === spill))
}

function ruleOf<R, S>(options: PolicyOptions<R, S>, sources: Sources<R>, source: Source): Omit<Rule<R, S>, 'target'> {
  checkOptions('a policy', options, POLICY_OPTIONS)
  checkFunctions(options, ['settle', 'onDenied', 'partition'])
  checkUnit(options.unit)
  checkProblem(options.problem)
  const { name = 'default', quota, key = 'ip', mode = 'enforce', settle, unit, partition } = options
  if (mode !== 'enforce' && mode !== 'shadow') {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `mode must be 'enforce' or 'shadow'; got ${shown(mode)}.`)
  }
  const shadow = mode === 'shadow'
  const stateName = shadow ? shadowOf(name) : name
  const at = {
    ...source,
    store: options.store === undefined ? source.store : checkStore(options.store, source.logger),
    deadline: options.deadline === undefined ? source.deadline : micros(options.deadline, 'deadline'),
    onStoreError: options.onStoreError === undefined ? source.onStoreError : checkStoreError(options.onStoreError),
  }
  const policyFor = (quota: Quota): ToldPolicy => ({
    ...policyOf(name, quota, at, stateName),
    item: headerItem({ name: stateName, quota, ...(unit && { unit }) }),
  })
  const pick = picker(name, quota, policyFor)
  if (typeof quota !== 'function') warnOfCost(name, quota, options, source.logger)
  return {
    name: stateName,
    shadow,
    registration: {
      store: at.store,
      name: stateName,
      ...(typeof quota === 'function' ? { tiers: quota } : { quota, tiers: 'one for all' }),
      key,
      match: options.match ?? 'all requests',
    },
    policyFor: pick,
    applies: matcher('match', options.match, sources),
    keyOf: keyReader(key, sources),
    costOf: costReader(options, sources.reader),
    partitionOf: partition && !shadow ? partitionReader(partition, source.logger) : undefined,
    settle: settle && checked(settle, checkReturnedActual),
    refuse: refuserOf(stateName, options.problem),
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
  const most = mostOf(quota)
  for (const [option, units] of Object.entries({ cost, defaultCost, maxCost })) {
    if (typeof units !== 'number' || units <= most) continue
    warnOnce(
      logger,
      'WARN_SPILLWAY_ALWAYS_DENIED',
      'a request is always denied: ',
      `policy ${shown(name)} never allows more than ${most} units at once, but its ${option} is ${units}. Lower ${option}, or raise the quota's burst.`,
    )
  }
}

/** The name of a shadow policy's states: it must not consume units of the policy that it will replace. */
export const shadowOf = (name: string): string => `${name} (shadow)`

function picker<R>(
  name: string,
  quota: PolicyOptions<R>['quota'],
  policyFor: (quota: Quota) => ToldPolicy,
): (request: R) => MaybePromise<ToldPolicy> {
  if (typeof quota !== 'function') {
    const policy = policyFor(quota)
    return () => policy
  }
  const tiers = new WeakMap<Quota, ToldPolicy>()
  const policyOfTier = (tier: Quota): ToldPolicy => {
    const known = tiers.get(tier)
    if (known) return known
    if (!isQuota(tier)) {
      throw new QuotaError(
        'ERR_SPILLWAY_QUOTA',
        `the quota function of policy ${shown(name)} must return a quota such as perMinute(100); got ${shown(tier)}.`,
      )
    }
    const policy = policyFor(tier)
    tiers.set(tier, policy)
    return policy
  }
  return (request) => andThen(settled(quota(request)), policyOfTier)
}
