import { Covering } from '../common/covers.ts'
import { formatValue, QuotaError } from '../common/errors.ts'

/** What makes policies tiers of one group. */
export interface Tier {
  /** The name of the group. */
  readonly tiers?: string
  /** Enforced policies and shadow policies do not skip each other. */
  readonly mode?: 'enforce' | 'shadow'
}

interface TierOptions extends Tier {
  readonly name?: string
  readonly match?: unknown
  readonly spill?: string
}

const nameOf = ({ name = 'default' }: TierOptions): string => formatValue(name)

/** Reports whether at most one of two policies counts a request. */
export const areTiers = (a: Tier, b: Tier): boolean =>
  a.tiers !== undefined && a.tiers === b.tiers && (a.mode ?? 'enforce') === (b.mode ?? 'enforce')

/**
 * Checks the tiers among policies. Throws a QuotaError for a name that is not text, a tier that no request reaches, and
 * one that spills over to a tier of its own group, which never counts the same request.
 */
export function checkTiers(policies: readonly TierOptions[]): void {
  const groups = new Map<string, Covering<TierOptions>>()
  const byName = new Map(policies.map((policy) => [policy.name, policy]))
  for (const policy of policies) {
    const { tiers, spill, mode = 'enforce' } = policy
    if (tiers === undefined) continue
    if (typeof tiers !== 'string' || tiers === '') {
      throw invalidTiers(`tiers must be the name of a group, such as 'plan'; got ${formatValue(tiers)}.`)
    }
    const group = groups.get(`${mode} ${tiers}`) ?? new Covering()
    groups.set(`${mode} ${tiers}`, group)
    const before = group.firstOver(policy.match)
    group.add(policy)
    if (before !== undefined) {
      throw invalidTiers(
        `tier ${nameOf(policy)} counts no request, because ${nameOf(before)} before it matches all requests that it matches. Write ${nameOf(policy)} first, or leave out its tiers if both shall count.`,
      )
    }
    const spilled = spill === undefined ? undefined : byName.get(spill)
    if (spilled !== undefined && areTiers(policy, spilled)) {
      throw invalidTiers(
        `tier ${nameOf(policy)} spills over to ${formatValue(spill)}, a tier of its own group, which does not count the same request. Name a policy outside of the group.`,
      )
    }
  }
}

const invalidTiers = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_OPTION', problem)
