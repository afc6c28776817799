import { actualsOf, type Costs } from '../checks/costs.ts'
import { formatValue, QuotaError } from '../common/errors.ts'
import type { ActualOf, PolicyCheck } from '../policies/policy.ts'
import { internals, type RateLimiter } from './limiter.ts'
import { type Reservation, reserve } from './reservation.ts'

/** The actual costs of `consumeAll`, in the order of its triples; `undefined` leaves one at its cost. */
export type ActualCosts = readonly (number | Costs | undefined)[]

/**
 * Consumes from several limiters, or several keys, all-or-nothing. If they share a store, this is one atomic call. If stores
 * differ, they are called one after the other, and if one denies or fails, those before it are rolled back. The result can
 * be settled, as a reservation: `commit([undefined, 812])` corrects the second limiter.
 *
 * Throws a `QuotaError` if a limiter, key or cost is invalid, or a key of a policy is named twice, also as one that another
 * spills over to.
 */
export async function consumeAll(
  takes: readonly (readonly [limiter: RateLimiter, key: string, cost?: number | Costs])[],
): Promise<Reservation<ActualCosts>> {
  if (!Array.isArray(takes) || !takes.every(Array.isArray)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `consumeAll takes a list of [limiter, key, cost] triples: consumeAll([[limiter, key]]); got ${formatValue(takes)}.`,
    )
  }
  const parts = takes.map(([limiter, key, cost = 1]) => {
    const named = internals().get(limiter)
    if (named) return { named, key, checks: named.checksFor('consume', key, cost) }
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `consumeAll takes [limiter, key, cost] triples; got ${formatValue(limiter)} for a limiter.`,
    )
  })
  if (parts.length === 0) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      'consumeAll takes one limiter or more: consumeAll([[limiter, key]]); got an empty list.',
    )
  }
  const states = parts.map(({ checks }) => checks.flatMap(statesOf))
  checkApart(states)
  const checks = parts.flatMap((part) => part.checks)
  return reserve(checks, undefined, (actual: ActualCosts | undefined) => {
    const actuals = checkActuals(actual, parts.length).map((each, i) =>
      actualsOf((parts[i] as (typeof parts)[number]).named, each),
    )
    return (check) => {
      const index = states.findIndex((each) =>
        each.some(({ policy, key }) => key === check.key && policy === check.policy),
      )
      return (actuals[index] as ActualOf)(check)
    }
  })
}

function checkActuals(actual: unknown, length: number): ActualCosts {
  if (actual === undefined) return Array.from({ length }, () => undefined)
  if (Array.isArray(actual) && actual.length === length) return actual
  throw new QuotaError(
    'ERR_SPILLWAY_COST',
    `commit of consumeAll takes a list of ${length} actual costs, one of each limiter in their order, or undefined for no correction; got ${Array.isArray(actual) ? `a list of ${actual.length}` : formatValue(actual)}.`,
  )
}

/** A check, and the checks by its spill policies, which may consume instead. */
const statesOf = (check: PolicyCheck): readonly PolicyCheck[] =>
  check.spill === undefined ? [check] : [check, ...statesOf(check.spill)]

/** Checks that no state is consumed by two triples: both would find the same units. */
function checkApart(states: readonly (readonly PolicyCheck[])[]): void {
  for (const [i, own] of states.entries()) {
    const others = states.slice(0, i).flat()
    const twice = own.find((each) => others.some((other) => isSame(each, other)))
    if (twice === undefined) continue
    const { policy, key } = twice
    throw new QuotaError(
      'ERR_SPILLWAY_KEY',
      `consumeAll names key ${formatValue(key)} of ${formatValue(policy.name)} twice. Add up the costs, or leave out the limiter that another one spills over to.`,
    )
  }
}

const isSame = (a: PolicyCheck, b: PolicyCheck): boolean =>
  a.key === b.key && a.policy.name === b.policy.name && a.policy.storeConfig.store === b.policy.storeConfig.store
