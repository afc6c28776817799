import { andThen, type MaybePromise } from '../common/maybe-promise.ts'
import type { Decision } from '../decisions/decision.ts'
import { merge } from '../decisions/merge.ts'
import type { EmptyPolicy, PolicyCheck } from '../policies/policy.ts'
import type { Targets } from '../policies/spill-targets.ts'
import type { Acquisition } from './store-result.ts'

/**
 * Replaces denied checks by their spill policies until all are allowed, or a denied one has no spill policy. A denied
 * acquisition has consumed nothing, so that each round is a new acquisition, a moment later.
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
  const next = checks.map((check) => insteadOf(check, decisionOf(check)))
  if (next.every((check) => check !== undefined)) {
    return andThen(acquireAgain(next), (again) => spillOver(again, next, acquireAgain))
  }
  return emptied ? deniedAcquisition(acquisition, checks, decisionOf) : acquisition
}

type DecisionOf = (check: PolicyCheck) => Decision | undefined

function decisionsOf({ checks, decision }: Acquisition): DecisionOf {
  const decisions = decision.policies ?? [decision]
  return (check) => decisions[checks.indexOf(check)]
}

/** The check for the next round: the same if it is allowed, else its spill policy; undefined if there is none. */
function insteadOf(check: PolicyCheck, decision: Decision | undefined): PolicyCheck | undefined {
  if (decision === undefined || decision.allowed) return check
  // The denial of a failed store does not mean that the quota is empty.
  if (check.spill === undefined || decision.degraded?.action === 'deny') return undefined
  return { ...check.spill, emptied: [...(check.emptied ?? []), { check, decision }] }
}

const resultsOf = ({ checks, results }: Acquisition): Pick<Acquisition, 'checks' | 'results'> => ({ checks, results })

const spilledOf = (checks: readonly PolicyCheck[]): Pick<Decision, 'spilled'> => ({
  spilled: checks.flatMap(({ emptied = [] }) => emptied.map(({ check }) => check.policy.name)),
})

/** The denial by all policies checked. The wait ends when each chain has a policy that allows. */
function deniedAcquisition(
  acquisition: Acquisition,
  checks: readonly PolicyCheck[],
  decisionOf: DecisionOf,
): Acquisition {
  const chains = checks.map((check): readonly EmptyPolicy[] => {
    const decision = decisionOf(check)
    return [...(check.emptied ?? []), ...(decision ? [{ check, decision }] : [])]
  })
  const all = chains.flat()
  const waiting = chains.flatMap((chain) => {
    const last = chain.at(-1)?.decision
    if (last === undefined) return []
    return [last.allowed ? last : chain.map(({ decision }) => decision).reduce(sooner)]
  })
  const { policies: _, ...merged } = merge(waiting)
  return {
    results: acquisition.results,
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
