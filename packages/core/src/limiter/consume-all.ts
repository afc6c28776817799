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
 * Throws a `QuotaError` if a limiter, key or cost is invalid, or a key of a policy is named twice.
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
  return reserve(checkApart(parts.flatMap(({ checks }) => checks)), undefined, (actual: ActualCosts | undefined) => {
    const actuals = checkActuals(actual, parts.length).map((each, i) =>
      actualsOf((parts[i] as (typeof parts)[number]).named, each),
    )
    return (check) => {
      const index = parts.findIndex(({ named, key }) => key === check.key && named.policies.includes(check.policy))
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

function checkApart(checks: readonly PolicyCheck[]): readonly PolicyCheck[] {
  const same = (a: PolicyCheck, b: PolicyCheck): boolean =>
    a.key === b.key && a.policy.name === b.policy.name && a.policy.storeConfig.store === b.policy.storeConfig.store
  const twice = checks.find((each, i) => checks.slice(0, i).some((other) => same(each, other)))
  if (twice === undefined) return checks
  const { policy, key } = twice
  throw new QuotaError(
    'ERR_SPILLWAY_KEY',
    `consumeAll names key ${formatValue(key)} of ${formatValue(policy.name)} twice. Add up the costs.`,
  )
}
