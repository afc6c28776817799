import { Covering } from '../common/covers.ts'
import type { RulePolicy } from './rule-policy.ts'

/**
 * The policies, with the tiers that their rules imply. If a rule has a larger quota than a later one without `match`, and
 * both count alike by the same keys, the later one would always deny first: what is meant is the larger quota for the
 * requests that match, and the smaller one for all others.
 * If two larger ones match the same requests, both are meant: the second is no tier, and counts beside the first.
 */
export function withTiers(policies: readonly RulePolicy[]): readonly RulePolicy[] {
  const spilled = new Set(policies.map(({ spill }) => spill))
  const counted = new Map(policies.map((policy) => [policy, JSON.stringify(countedBy(policy))]))
  const isTierOf = (tier: RulePolicy, fallback: RulePolicy): boolean =>
    tier.match !== undefined &&
    fallback.match === undefined &&
    counted.get(tier) === counted.get(fallback) &&
    isLarger(tier, fallback)
  const isAlone = (policy: RulePolicy): boolean => !isRelated(policy) && !spilled.has(policy.name)
  const fallbacks = policies.map((policy, i) =>
    isAlone(policy) ? policies.slice(i + 1).find((later) => isAlone(later) && isTierOf(policy, later)) : undefined,
  )
  const used = new Set(fallbacks)
  const groups = new Map<RulePolicy, Covering<RulePolicy>>()
  return policies.map((policy, i) => {
    if (used.has(policy)) return { ...policy, tiers: groupOf(policy, policies) }
    const fallback = fallbacks[i]
    if (fallback === undefined) return policy
    const before = groups.get(fallback) ?? new Covering()
    groups.set(fallback, before)
    const isReached = before.firstOver(policy.match) === undefined
    before.add(policy)
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

/** Whether a policy itself says how it is related to others. */
const isRelated = ({ tiers, spill, mode }: RulePolicy): boolean =>
  tiers !== undefined || spill !== undefined || mode === 'shadow'

// With the statuses: a limit of failed logins does not deny first what a limit of all requests denies.
// Slots deny nothing first that a rate denies.
const countedBy = ({
  key,
  cost = 1,
  defaultCost = 1,
  maxCost,
  countIf,
  quota: { kernel },
}: RulePolicy): readonly unknown[] => [
  key,
  cost,
  defaultCost,
  maxCost,
  countIf && [...countIf].sort((a, b) => a - b),
  kernel === 'slots',
]

/** Whether a quota has more units and a higher rate. */
const isLarger = ({ quota: a }: RulePolicy, { quota: b }: RulePolicy): boolean =>
  a.limit > b.limit && a.limit * b.window > b.limit * a.window
