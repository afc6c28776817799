import { formatValue, invalidOption, QuotaError } from '../common/errors.ts'
import { all, andThen } from '../common/maybe-promise.ts'
import { actualsOf, type Costs } from '../policies/costs.ts'
import { MOST_POLICIES } from '../policies/count.ts'
import type { ActualOf, PolicyCheck } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import { internalsOf } from './internals-of.ts'
import type { LeanLimiter } from './lean-limiter-types.ts'
import { type Reservation, reserveFor } from './reservation.ts'

/** The actual costs of `consumeAll`, in the order of its triples; `undefined` leaves one at its cost. */
export type ActualCosts = readonly (number | Costs | undefined)[]

/**
 * Consumes from several limiters, or several keys, all-or-nothing. If they share a store, this is one atomic call. If stores
 * differ, they are called one after the other, and if one denies or fails, those before it are rolled back. The result can
 * be settled, as a reservation: `commit([undefined, 812])` corrects the second limiter.
 *
 * Throws a `QuotaError` if the limiters have more than 1,000 quotas together, a limiter, key or cost is invalid, or a key of a policy
 * is named twice, also as one that another spills over to.
 */
export async function consumeAll(
  takes: readonly (readonly [limiter: LeanLimiter, key: string, cost?: number | Costs])[],
): Promise<Reservation<ActualCosts>> {
  if (!Array.isArray(takes) || !takes.every(Array.isArray)) {
    throw invalidOption('consumeAll takes a list of [limiter, key, cost] triples: consumeAll([[limiter, key]])', takes)
  }
  const { length } = takes
  const found = takes.map(([limiter, key, cost = 1]) => {
    const own = internalsOf(limiter)
    if (own)
      return andThen(own.active().forKey(key), (named) => ({
        named,
        checks: own.checksOf(named, 'consume', key, cost),
      }))
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `consumeAll takes [limiter, key, cost] triples; got ${formatValue(limiter)} for a limiter.`,
    )
  })
  const known = all(found)
  const parts = known instanceof Promise ? await known : known
  const checks = parts.flatMap((part) => part.checks)
  if (checks.length < 1 || checks.length > MOST_POLICIES) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `consumeAll consumes from 1 to ${MOST_POLICIES} quotas: consumeAll([[limiter, key]]); got ${checks.length} in ${length} triples. Split a longer list, and if a call is denied, cancel() those before it.`,
    )
  }
  const indexOf = indexStates(parts)
  return reserveFor(checks, undefined, (actual: ActualCosts | undefined) => {
    const actuals = checkActuals(actual, length).map((each, i) =>
      actualsOf((parts[i] as (typeof parts)[number]).named, each),
    )
    return (check) => (actuals[indexOf(check)] as ActualOf)(check)
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

/** Finds the triple that consumes a state. Throws if two do: both would find the same units. */
function indexStates(parts: readonly { readonly checks: readonly PolicyCheck[] }[]): (state: PolicyCheck) => number {
  const stores = new Map<Store, number>()
  const indexes = new Map<string, number>()
  // Names of policies have no line breaks.
  const nameOf = ({ policy, key }: PolicyCheck): string => {
    const { store } = policy.storeConfig
    if (!stores.has(store)) stores.set(store, stores.size)
    return [stores.get(store), policy.name, key].join('\n')
  }
  for (const [i, { checks }] of parts.entries()) {
    for (const state of checks.flatMap(statesOf)) {
      const name = nameOf(state)
      if (indexes.has(name)) {
        throw new QuotaError(
          'ERR_SPILLWAY_KEY',
          `consumeAll names key ${formatValue(state.key)} of ${formatValue(state.policy.name)} twice. Add up the costs, or leave out the limiter that another one spills over to.`,
        )
      }
      indexes.set(name, i)
    }
  }
  return (state) => indexes.get(nameOf(state)) as number
}
