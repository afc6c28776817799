import type { RulePolicy } from './rule-policy.ts'

/**
 * The policies, with the tiers that their rules imply. If a rule has a larger quota than a later one without `match`, and
 * both count by the same keys, the later one would always deny first: what is meant is the larger quota for the requests
 * that match, and the smaller one for all others.
 */
export const withTiers = (policies: readonly RulePolicy[]): readonly RulePolicy[] =>
  policies.map((policy, i) => {
    if (!isAlone(policy)) return policy
    if (policy.match === undefined) {
      const larger = policies.slice(0, i).some((earlier) => isTierOf(earlier, policy))
      return larger ? { ...policy, tiers: policy.name } : policy
    }
    const fallback = policies.slice(i + 1).find((later) => isAlone(later) && isTierOf(policy, later))
    return fallback === undefined ? policy : { ...policy, tiers: fallback.name }
  })

/** Whether a policy is not related to others explicitly. */
const isAlone = ({ tiers, spill, mode }: RulePolicy): boolean =>
  tiers === undefined && spill === undefined && mode !== 'shadow'

/** Whether `tier` could never deny a request, because the `fallback` denies it first. */
function isTierOf(tier: RulePolicy, fallback: RulePolicy): boolean {
  if (!isAlone(tier) || tier.match === undefined || fallback.match !== undefined) return false
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
