import type { Decision } from '../algorithms/decision.ts'
import { merge } from '../algorithms/merge.ts'
import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Acquisition, EmptyPolicy, PolicyCheck } from './policy.ts'
import type { Targets } from './spill-targets.ts'

/**
 * Replaces denied checks by their spill policies until all are allowed, or a denied one has no spill policy and the wait is
 * known. A denied acquisition has consumed nothing, so that each round is a new acquisition, a moment later.
 */
export function spillOver(
  acquisition: Acquisition,
  checks: readonly PolicyCheck[],
  acquireAgain: (checks: readonly PolicyCheck[]) => MaybePromise<Acquisition>,
): MaybePromise<Acquisition> {
  const { decision } = acquisition
  const emptied = checks.some((check) => check.emptied)
  if (decision.allowed)
    return emptied ? { ...resultsOf(acquisition), decision: { ...decision, ...spilledOf(checks) } } : acquisition
  const decisionOf = decisionsOf(acquisition)
  const chains = checks.flatMap((check) => chainOf(check, decisionOf(check)))
  const next = checks.map((check) => insteadOf(check, decisionOf(check)))
  // A check that is stuck denies the next round too, which then only finds how long the others wait.
  const isStuck = next.some((check, i) => check === checks[i] && decisionOf(check)?.allowed === false)
  const isUnavailable = decision.degraded?.action === 'deny'
  if (!isStuck || (longestOf(chains).rest !== undefined && !isUnavailable)) {
    return andThen(acquireAgain(next), (again) => spillOver(again, next, acquireAgain))
  }
  return emptied ? deniedAcquisition(acquisition, checks, chains) : acquisition
}

type DecisionOf = (check: PolicyCheck) => Decision | undefined

function decisionsOf({ checks, decision }: Acquisition): DecisionOf {
  const decisions = decision.policies ?? [decision]
  return (check) => decisions[checks.indexOf(check)]
}

/** The check for the next round: the same if it is allowed or has no spill policy, else its spill policy. */
function insteadOf(check: PolicyCheck, decision: Decision | undefined): PolicyCheck {
  const rest = restOf(check, decision)
  return rest && decision ? { ...rest, emptied: [...(check.emptied ?? []), { check, decision }] } : check
}

/** The spill policy of a denied check. The denial of a failed store does not mean that the quota is empty. */
const restOf = ({ spill }: PolicyCheck, decision: Decision | undefined): PolicyCheck | undefined =>
  decision === undefined || decision.allowed || decision.degraded?.action === 'deny' ? undefined : spill

const resultsOf = ({ checks, results }: Acquisition): Pick<Acquisition, 'checks' | 'results'> => ({ checks, results })

const spilledOf = (checks: readonly PolicyCheck[]): Pick<Decision, 'spilled'> => ({
  spilled: checks.flatMap(({ emptied = [] }) => emptied.map(({ check }) => check.policy.name)),
})

/** A policy and those that it spills over to, as far as they have been checked. */
interface Chain {
  readonly policies: readonly EmptyPolicy[]
  /** The one that decides: the last if it allows, else the one that allows soonest. */
  readonly decision: Decision
  /** The first that has not been checked. */
  readonly rest: PolicyCheck | undefined
}

function chainOf(check: PolicyCheck, last: Decision | undefined): readonly Chain[] {
  if (last === undefined) return []
  const policies = [...(check.emptied ?? []), { check, decision: last }]
  const decision = last.allowed ? last : policies.map((each) => each.decision).reduce(sooner)
  return [{ policies, decision, rest: restOf(check, last) }]
}

/** The chain whose wait is that of the request. */
const longestOf = (chains: readonly Chain[]): Chain =>
  chains.reduce((a, b) => (b.decision.retryAfterMs > a.decision.retryAfterMs ? b : a))

/** The denial by all policies checked. The wait ends when each chain has a policy that allows. */
function deniedAcquisition(
  { results }: Acquisition,
  checks: readonly PolicyCheck[],
  chains: readonly Chain[],
): Acquisition {
  const all = chains.flatMap(({ policies }) => policies)
  const { policies: _, ...merged } = merge(chains.map(({ decision }) => decision))
  return {
    results,
    checks: all.map(({ check }) => check),
    decision: {
      ...merged,
      violated: all.filter(({ decision }) => !decision.allowed).map(({ check }) => check.policy.name),
      ...spilledOf(checks),
      policies: all.map(({ decision }) => decision),
    },
  }
}

const sooner = (a: Decision, b: Decision): Decision => (b.retryAfterMs < a.retryAfterMs ? b : a)

/** The checks of the first round, each with its spill policy. A missing check has no spill policy. */
export function spilling<A extends { readonly spill?: A }>(
  checks: readonly (A | undefined)[],
  targets: Targets,
): readonly A[] {
  const checkAt = (index: number): A | undefined => {
    const check = checks[index]
    const spill = (targets[index] ?? -1) < 0 ? undefined : checkAt(targets[index] as number)
    return check && spill ? { ...check, spill } : check
  }
  const spilled = new Set(targets)
  return checks
    .map((_, index) => (spilled.has(index) ? undefined : checkAt(index)))
    .filter((check) => check !== undefined)
}
