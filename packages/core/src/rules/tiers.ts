import { covers } from '../common/covers.ts'
import type { RulePolicy } from './rule-policy.ts'

/**
 * The policies, with the tiers that their rules imply. If a rule has a larger quota than a later one without `match`, and
 * both count by the same keys, the later one would always deny first: what is meant is the larger quota for the requests
 * that match, and the smaller one for all others.
 * If two larger ones match the same requests, both are meant: the second is no tier, and counts beside the first.
 */
export function withTiers(policies: readonly RulePolicy[]): readonly RulePolicy[] {
  const fallbacks = policies.map((policy, i) => policies.slice(i + 1).find((later) => isTierOf(policy, later)))
  return policies.map((policy, i) => {
    const isFallback = fallbacks.includes(policy)
    if (isFallback) return { ...policy, tiers: groupOf(policy, policies) }
    const fallback = fallbacks[i]
    if (fallback === undefined) return policy
    const isReached = policies
      .slice(0, i)
      .every(({ match }, j) => fallbacks[j] !== fallback || !covers(match, policy.match))
    return isReached ? { ...policy, tiers: groupOf(fallback, policies) } : policy
  })
}

/** The name of the group of a fallback and its tiers, which is no other group's. */
function groupOf({ name }: RulePolicy, policies: readonly RulePolicy[]): string {
  let group = name
  const isOther = (policy: RulePolicy): boolean => policy.tiers === group || (policy.name === group && group !== name)
  while (policies.some(isOther)) group += ' (implied)'
  return group
}

/** Whether a policy is not related to others explicitly. */
const isAlone = ({ tiers, spill, mode }: RulePolicy): boolean =>
  tiers === undefined && spill === undefined && mode !== 'shadow'

/** Whether `tier` could never deny a request, because the `fallback` denies it first. */
function isTierOf(tier: RulePolicy, fallback: RulePolicy): boolean {
  if (!isAlone(tier) || !isAlone(fallback) || tier.match === undefined || fallback.match !== undefined) return false
  return JSON.stringify(countedBy(tier)) === JSON.stringify(countedBy(fallback)) && isLarger(tier, fallback)
}

const countedBy = ({ key, cost = 1, defaultCost = 1, maxCost }: RulePolicy): readonly unknown[] => [
  key,
  cost,
  defaultCost,
  maxCost,
]

/** Whether a quota has more units and a higher rate. */
const isLarger = ({ quota: a }: RulePolicy, { quota: b }: RulePolicy): boolean =>
  a.limit > b.limit && a.limit * b.window > b.limit * a.window
