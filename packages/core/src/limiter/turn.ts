import { type Micros, monotonicMs } from '../common/time.ts'
import type { Acquisition, PolicyCheck, StoreResult } from '../policies/policy.ts'

/** Equal for acquisitions of the same states whose units can be exchanged. */
export const unitsOf = ({ results }: Acquisition): string =>
  JSON.stringify(results.map(({ checks }) => checks.map(({ policy, cost }) => [policy.quota, cost])))

/** When the turn of an acquisition comes. */
export function turnOf({ results }: Acquisition): Micros {
  const turns = results.map(({ decisions, taken }) => {
    const delay = Math.max(...decisions.map(({ delayMs }) => delayMs))
    return Math.round((taken[0]?.now ?? monotonicMs() * 1000) + delay * 1000)
  })
  return Math.max(...turns)
}

/** A caller's acquisition with the units of another turn, which are of equal checks. */
export function withTurn(acquisition: Acquisition, turn: Acquisition): Acquisition {
  if (turn === acquisition) return acquisition
  const results = acquisition.results.map((own, i) => withUnits(own, turn.results[i] as StoreResult))
  return { ...acquisition, results }
}

function withUnits({ checks, decisions }: StoreResult, theirs: StoreResult): StoreResult {
  const { taken, fallback } = theirs
  if (!fallback) return { checks, decisions, taken }
  const ownOf = (check: PolicyCheck): PolicyCheck => checks[theirs.checks.indexOf(check)] as PolicyCheck
  const settle: typeof fallback.settle = (actualOf) => fallback.settle((check) => actualOf(ownOf(check)))
  return { checks, decisions, taken, fallback: { ...fallback, settle } }
}
