import type { Verb } from '../algorithms/step-options.ts'
import { needsUnits } from '../algorithms/verbs.ts'
import { formatValue, invalid, QuotaError } from '../common/errors.ts'
import { guess } from '../common/guess.ts'
import type { ActualOf, Policy, PolicyCheck } from './policy.ts'
import type { Targets } from './spill-targets.ts'

/** Units by policy, under the names in `quotas`: `{ requests: 1, tokens: 4000 }`. */
export type Costs = Readonly<Record<string, number>>

/** The policies of a limiter, with the names that costs have for them. */
export interface NamedPolicies {
  /** Those with a name, and then the block list, if there is one. */
  readonly policies: readonly Policy[]
  readonly names: readonly string[]
  readonly targets: Targets
}

/**
 * The units of each policy, in the order of the policies. Undefined for those that are left out: those whose cost is 0,
 * and for a refund or a charge those that the costs do not name, and the block list. Otherwise a policy that the costs do
 * not name costs 1, and a spill policy costs what its source does. Throws a `QuotaError` if the costs are invalid.
 */
export function costsOf(named: NamedPolicies, cost: number | Costs, verb: Verb): readonly (number | undefined)[] {
  const { names, targets, policies } = named
  const needs = needsUnits(verb)
  if (typeof cost === 'number') return (needs ? policies : names).map(() => cost)
  const given = checkCosts(named, cost)
  const missing = needs ? 1 : 0
  const costAt = (index: number): number => {
    const source = targets.indexOf(index)
    return given.get(names[index] as string) ?? (source < 0 || missing === 0 ? missing : costAt(source))
  }
  const costs = names.map((_, index) => costAt(index) || undefined)
  // Only a block list has no name.
  if (costs.some((units) => units !== undefined))
    return [...costs, ...policies.slice(names.length).map(() => missing || undefined)]
  throw invalidCost(`leaves out every policy: ${listed(names)}. Give one of them a cost of 1 or more.`)
}

/** The actual cost of each check: what the limiter's costs name, else the cost it was checked with. */
export function actualsOf(named: NamedPolicies, actual: number | Costs | undefined): ActualOf {
  if (actual === undefined) return ({ cost }) => cost
  if (typeof actual !== 'object' || actual === null) {
    const units = checkActual(actual)
    return () => units
  }
  const given = checkCosts(named, actual)
  const nameOf = ({ policy }: PolicyCheck): string => named.names[named.policies.indexOf(policy)] as string
  return (check) => {
    const sources = (check.emptied ?? []).map(({ check }) => check).reverse()
    const name = [check, ...sources].map(nameOf).find((each) => given.has(each))
    return name === undefined ? check.cost : (given.get(name) as number)
  }
}

/** Checks an actual cost. */
export function checkActual(actual: unknown): number {
  if (typeof actual === 'number' && Number.isSafeInteger(actual) && actual >= 0) return actual
  throw invalid('ERR_SPILLWAY_COST', 'what it really cost must be a whole number of units, 0 or more', actual)
}

function checkCosts({ names }: NamedPolicies, costs: unknown): ReadonlyMap<string, number> {
  if (typeof costs !== 'object' || costs === null || Array.isArray(costs)) {
    throw invalidCost(
      `must be a whole number of units, 1 or more; got ${formatValue(costs)}. For a cost of each policy, write { ${names[0]}: 1 }.`,
    )
  }
  if ('then' in costs && typeof costs.then === 'function') throw invalidCost('is a promise. Await it first.')
  const given = Object.entries(costs)
  if (given.length === 0)
    throw invalidCost(`names no policy; got ${formatValue(costs)}. This limiter has ${listed(names)}.`)
  for (const [name, units] of given) {
    if (!names.includes(name)) {
      throw invalidCost(
        `names ${formatValue(name)}, which is no policy of this limiter. ${guess(name, names) ?? `It has ${listed(names)}.`}`,
      )
    }
    if (Number.isSafeInteger(units) && units >= 0) continue
    const hint = units instanceof Promise ? 'a promise. Await it first.' : `${formatValue(units)}.`
    throw invalidCost(`of ${formatValue(name)} must be a whole number of units, 0 or more; got ${hint}`)
  }
  return new Map(given)
}

const listed = (names: readonly string[]): string => names.map(formatValue).join(', ')

const invalidCost = (problem: string): QuotaError => new QuotaError('ERR_SPILLWAY_COST', `cost ${problem}`)
