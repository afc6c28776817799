import { type Decision, type Degraded, NONE } from './decision.ts'

/** Merges the decisions of several policies: allowed if all allow, else the denial with the longest wait. */
export function merge(decisions: readonly Decision[]): Decision {
  // Fields written out: a spread takes longer than all decisions.
  const { allowed, policy, limit, remaining, cost, retryAfterMs, resetAfterMs, replenishAfterMs } =
    governingOf(decisions)
  let delayMs = 0
  let degraded: Decision['degraded']
  for (const each of decisions) {
    if (allowed && each.delayMs > delayMs) delayMs = each.delayMs
    if (each.degraded) degraded = moreSevere(degraded, each.degraded)
  }
  const merged = {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs,
    violated: allowed ? NONE : decisions.filter((each) => !each.allowed).map((each) => each.policy),
    policies: decisions,
  }
  return degraded ? { ...merged, degraded } : merged
}

/** Of denials, the first with the longest wait; else the first with the fewest units left, counted ones before others. */
function governingOf(decisions: readonly Decision[]): Decision {
  let governing = decisions[0] as Decision
  for (const each of decisions) if (governs(each, governing)) governing = each
  return governing
}

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
