import { inFlight } from '@spillway/core/in-flight'
import { policiesFrom } from '@spillway/core/rules'
import { claimedName } from '../policy-names.ts'
import { type CodePolicy, type Rule, ruleFrom } from './rule.ts'

/**
 * The policies of limiters as a document of rules, which `policiesFrom` reads as they are in code. Limiters may have the same
 * names of policies and tiers, which a document cannot have: the later ones get a number.
 */
export function documentOf(limiters: readonly (readonly CodePolicy[])[]): { readonly rules: readonly Rule[] } {
  const names = new Set<string>()
  const groups = new Set<string>()
  const rules = limiters.flatMap((policies) => {
    const free = policies.map((policy) => claimedName(nameOf(policy), names))
    const spillOf = (name: string): string => free[policies.findIndex((policy) => nameOf(policy) === name)] ?? name
    const own = new Set(policies.flatMap(({ tiers }) => (tiers === undefined ? [] : [String(tiers)])))
    const groupOf = new Map([...own].map((group) => [group, claimedName(group, groups)]))
    return policies.map((policy, i) =>
      ruleFrom(
        {
          ...policy,
          ...(policy.spill !== undefined && { spill: spillOf(String(policy.spill)) }),
          ...(policy.tiers !== undefined && { tiers: groupOf.get(String(policy.tiers)) }),
        },
        free[i] as string,
      ),
    )
  })
  return { rules: withoutImpliedTiers(rules, groups) }
}

const nameOf = ({ name = 'default' }: CodePolicy): string => String(name)

/**
 * Keeps `policiesFrom` from reading rules as tiers that all count in code. It reads those as tiers that are larger than a later
 * rule without `match`, unless that is in a group of its own.
 */
function withoutImpliedTiers(rules: readonly Rule[], groups: Set<string>): readonly Rule[] {
  const read = policiesFrom(rules, { inFlight })
  const implied = rules.filter(({ tiers, match }, i) => match === undefined && tiers !== read[i]?.tiers)
  if (implied.length === 0) return rules
  const alone = rules.map((rule) =>
    implied.includes(rule) ? { ...rule, tiers: claimedName(rule.name, groups) } : rule,
  )
  return withoutImpliedTiers(alone, groups)
}
