import { checkQuota } from '../../algorithms/algorithm.ts'
import type { Decision } from '../../algorithms/decision.ts'
import type { Quota } from '../../algorithms/quota-types.ts'
import type { Verb } from '../../algorithms/step-options.ts'
import { checkCost } from '../../algorithms/verbs.ts'
import { formatValue, QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { blockKey, cannotBlock, unblockKey } from '../../limiter/block.ts'
import { canBlock } from '../../limiter/blocked.ts'
import { inspectKey } from '../../limiter/inspect.ts'
import { listKeys } from '../../limiter/list.ts'
import { resetAllOf, resetKey } from '../../limiter/reset.ts'
import { decideNow } from '../../policies/acquisition.ts'
import type { Policy, PolicyCheck } from '../../policies/policy.ts'
import { spilling } from '../../policies/spill.ts'
import { shadowName } from '../../policies/state-names.ts'
import { areTiers, type Tier } from '../../policies/tiers.ts'
import type { StateKey } from '../../stores/store.ts'
import { blockListOf } from '../blocks/index.ts'
import { isShadow } from '../shadow/index.ts'
import { targetsOf } from '../spill/index.ts'
import type { ByKey, ByKeyOptions, KeyedPolicy } from './calls.ts'

type Policies<R, S> = readonly KeyedPolicy<R, S>[]

const quotaByAll = <R, S>({ registrations }: KeyedPolicy<R, S>): Quota | undefined =>
  registrations[0].quota as Quota | undefined

/** A policy whose states of a key are changed. */
type PolicyKey = Pick<PolicyCheck, 'policy' | 'key'>

/** Builds the calls by key. Rejects with a `QuotaError` if a key or an option is invalid. */
export function callsByKey<R, S>(policiesNow: () => Policies<R, S>): ByKey {
  const decide = async (verb: Verb, key: unknown, units: unknown, options: ByKeyOptions = {}): Promise<Decision> => {
    checkByKey(verb, options)
    const all = policiesNow()
    const selected = selectedOf(verb, all, options.policy)
    const tier = selected.find((each) =>
      selected.some((other) => other !== each && areTiers(each as Tier, other as Tier)),
    )
    if (tier !== undefined) throw unnamed(verb, all, 'has tiers, of which a key has one')
    const checks = all.map((each): PolicyCheck | undefined => {
      if (!selected.includes(each)) return undefined
      const policy = each.withQuota(quotaOf(verb, each, options.quota))
      return { policy, key: each.keyText(key), cost: checkCost(units, policy.quota, verb) }
    })
    const lists = all.flatMap((each, i): readonly PolicyCheck[] => {
      const policy = blockListOf(each)
      return policy && checks[i] ? [{ ...checks[i], policy }] : []
    })
    const targets = options.policy === undefined ? targetsOf(all) : []
    return decideNow(verb, [...spilling(checks, targets), ...lists])
  }
  const blockable = (call: 'block' | 'unblock', key: unknown, options: ByKeyOptions = {}): readonly PolicyKey[] => {
    checkByKey(call, options)
    const all = policiesNow()
    const states = selectedOf(call, all, options.policy).flatMap((each): readonly PolicyKey[] => {
      const quota = options.quota ?? quotaByAll(each)
      const policies = [blockListOf(each), quota === undefined ? undefined : each.withQuota(quota)]
      return policies.flatMap((policy) => (policy && canBlock(policy) ? [{ policy, key: each.keyText(key) }] : []))
    })
    if (states.length > 0) return states
    throw cannotBlock(call)
  }
  const inPolicy = (call: string, each: KeyedPolicy<R, S>, quota: Quota | undefined): readonly Policy[] => [
    each.withQuota(quotaOf(call, each, quota)),
    ...[blockListOf(each) ?? []].flat(),
  ]
  return {
    refund: (key, units = 1, options) => decide('refund', key, units, options),
    inspect: async (key, options = {}) => {
      checkByKey('inspect', options)
      const selected = selectedOf('inspect', policiesNow(), options.policy)
      const found = selected.map((each) => inspectKey(inPolicy('inspect', each, options.quota), each.keyText(key)))
      return (await Promise.all(found)).flat()
    },
    list: async ({ policy, quota, ...options } = {}) => {
      const all = policiesNow()
      const enforced = all.filter((each) => !isShadow(each))
      if (policy === undefined && enforced.length > 1) throw unnamed('list', all, 'has several policies')
      const [selected] = selectedOf('list', all, policy) as [KeyedPolicy<R, S>]
      if (quota !== undefined) checkQuota('quota', quota)
      return listKeys(inPolicy('list', selected, quota), options)
    },
    resetAll: async (policy) => {
      const all = policiesNow()
      const selected = policy === undefined ? all : selectedOf('resetAll', all, policy)
      const counts = await Promise.all(
        selected.map(({ registrations, storeConfig }) =>
          resetAllOf(
            registrations.map(({ name }) => name),
            storeConfig,
            undefined,
          ),
        ),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },
    block: async (key, duration, options) => blockKey(blockable('block', key, options), duration),
    unblock: async (key, options) => unblockKey(blockable('unblock', key, options)),
    peek: (key, options) => decide('peek', key, 1, options),
    charge: (key, units = 1, options) => decide('charge', key, units, options),
    reset: async (key, options = {}) => {
      checkOptions('reset', options, ['policy'])
      const resets = selectedOf('reset', policiesNow(), options.policy).map((each) => ({
        states: statesOf(each, each.keyText(key)),
        storeConfig: each.storeConfig,
      }))
      const found = await Promise.all(resets.map(({ states, storeConfig }) => resetKey(states, storeConfig)))
      return found.includes(true)
    },
  }
}

function checkByKey(call: string, options: ByKeyOptions): void {
  checkOptions(call, options, ['policy', 'quota'])
  if (options.quota !== undefined) checkQuota('quota', options.quota)
}

/** The states of a key: of the policy, and of its block list. */
const statesOf = <R, S>({ registrations }: KeyedPolicy<R, S>, key: string): readonly [StateKey, ...StateKey[]] =>
  registrations.map(({ name }) => ({ policy: name, key })) as [StateKey]

/** The policy named; by default, all enforced policies, which must have one key. */
function selectedOf<R, S>(call: string, all: Policies<R, S>, named: string | undefined): Policies<R, S> {
  if (named !== undefined) {
    const found = all.find(({ name }) => name === named || name === shadowName(named))
    if (found !== undefined) return [found]
    throw invalid(`${call} names the policy ${formatValue(named)}; there are ${namesOf(all)}.`)
  }
  const enforced = all.filter((each) => !isShadow(each))
  const [first] = enforced
  if (first === undefined) throw unnamed(call, all, 'has shadow policies only')
  const keyOf = ({ registrations: [{ key }] }: KeyedPolicy<R, S>) => (Array.isArray(key) ? JSON.stringify(key) : key)
  if (enforced.every((each) => keyOf(each) === keyOf(first))) return enforced
  throw unnamed(call, all, 'has policies with different keys')
}

function quotaOf<R, S>(verb: string, policy: KeyedPolicy<R, S>, given: Quota | undefined): Quota {
  const quota = given ?? quotaByAll(policy)
  if (quota !== undefined) return quota
  throw invalid(
    `a function chooses the quota of policy ${formatValue(policy.name)} by request. Write ${verb}(${ARGUMENTS[verb] ?? 'key, '}{ quota: perMinute(100) }) with the quota of this key.`,
  )
}

const ARGUMENTS: Readonly<Record<string, string>> = { charge: 'key, units, ', refund: 'key, units, ', list: '' }

const namesOf = <R, S>(all: Policies<R, S>): string => all.map(({ name }) => formatValue(name)).join(', ')

const unnamed = <R, S>(call: string, all: Policies<R, S>, why: string): QuotaError =>
  invalid(`this rateLimit ${why}. Name one of ${namesOf(all)}: ${call}(key, { policy: ${formatValue(all[0]?.name)} }).`)

const invalid = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', problem)
