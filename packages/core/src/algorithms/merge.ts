import type { Decision, Degraded } from './decision.ts'
import { NONE } from './decision-of.ts'

/** Merges the decisions of policies: allowed if all allow, else the denial with the longest wait. That of one is left as it is. */
export function merge(decisions: readonly Decision[]): Decision {
  if (decisions.length === 1) return decisions[0] as Decision
  // Of denials, the first with the longest wait; else the first with the fewest units left, counted ones before others.
  let governing = decisions[0] as Decision
  let delayed = 0
  let denials = 0
  let degraded: Decision['degraded']
  for (const each of decisions) {
    if (governs(each, governing)) governing = each
    if (!each.allowed) denials++
    if (each.delayMs > delayed) delayed = each.delayMs
    if (each.degraded) degraded = moreSevere(degraded, each.degraded)
  }
  const { allowed, policy, limit, remaining, cost, retryAfterMs, resetAfterMs, replenishAfterMs } = governing
  // Fields written out: a spread takes longer than all decisions.
  const merged = {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs: allowed ? delayed : 0,
    violated: denials === 0 ? NONE : denials === 1 ? [policy] : violatedOf(decisions),
    policies: decisions,
  }
  return degraded ? { ...merged, degraded } : merged
}

const violatedOf = (decisions: readonly Decision[]): readonly string[] =>
  decisions.filter((each) => !each.allowed).map((each) => each.policy)

function governs(each: Decision, other: Decision): boolean {
  if (each.allowed !== other.allowed) return other.allowed
  if (!each.allowed) return each.retryAfterMs > other.retryAfterMs
  if (isCounted(each) !== isCounted(other)) return isCounted(each)
  return each.remaining < other.remaining
}

/** Reports whether a decision has numbers of its policy's quota, counted by the store or this process. */
export const isCounted = ({ degraded }: Decision): boolean => degraded === undefined || degraded.action === 'local'

const SEVERITY: readonly Degraded['action'][] = ['local', 'allow', 'fallback', 'deny']
const moreSevere = (a: Decision['degraded'], b: NonNullable<Decision['degraded']>): Decision['degraded'] =>
  a === undefined || SEVERITY.indexOf(b.action) > SEVERITY.indexOf(a.action) ? b : a
