import { formatValue, invalidOption, QuotaError } from '../../common/errors.ts'
import { all, andThen } from '../../common/maybe-promise.ts'
import { acquiring, withCalls } from '../../http/pipeline/calls.ts'
import type { HttpCheck } from '../../http/pipeline/compiled.ts'
import { listedHeaders } from '../../http/pipeline/listed-headers.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { checkAtMost } from '../../policies/count.ts'
import { namesOf } from '../../policies/state-names.ts'
import { checkTiers, type Tier } from '../../policies/tiers.ts'
import { matching } from '../matching/index.ts'
import { emptyMatcher, firstOf, groupsOf, type TieredPolicy } from './tiers.ts'

/** The option for tiers. */
export interface TierOptions {
  /**
   * The name of a group of tiers, of which a request has one: the first policy of the group whose `match` holds counts,
   * and those after it do not. The last one, without `match`, is for all others.
   * @default none, the policy counts whatever the others do
   */
  readonly tiers?: string
}

/** The types of its options. */
export interface SeveralTypes extends OptionTypes {
  readonly policy: TierOptions
}

/** `policies` and `tiers`: several policies, of which each counts a request, or the first of a group. */
export const several: Feature<SeveralTypes> & { readonly name: 'several' } = {
  name: 'several',
  options: ['policies'],
  policyOptions: ['tiers'],
  needs: [matching],
  layers: {
    store: withCalls,
    options,
    policies,
    several: severalPolicies,
    policy,
    checks,
    enforce: acquiring,
    headers,
  },
}

type PoliciesOption = { readonly policies?: readonly object[] }

/** With `policies`, the limiter has no options of one policy. */
function options<R, S>(next: Seams<R, S>['options']): Seams<R, S>['options'] {
  return (given, names, hint) => {
    const isList = ((given as PoliciesOption | null)?.policies ?? undefined) !== undefined
    return next(given, isList ? { ...names, policy: [] } : names, hint)
  }
}

function policies<R, S>(next: Seams<R, S>['policies']): Seams<R, S>['policies'] {
  return (given, names) => (given as PoliciesOption).policies ?? next(given, names)
}

/** Compiles policies. Throws a QuotaError if two have one name. */
function severalPolicies<R, S>(): Seams<R, S>['several'] {
  return (given, compile) => {
    if (!Array.isArray(given)) {
      throw invalidOption('policies must be a list of policies', given)
    }
    checkAtMost('policies', given.length)
    // A list with holes has policies that are undefined.
    const list: readonly object[] = Array.from(given)
    const compiled = list.map(compile)
    const names = list.flatMap(namesOf)
    const seen = new Set<string>()
    const twice = names.find((name) => seen.has(name) || !seen.add(name))
    if (names.length > 0 && twice === undefined) {
      checkTiers(list as readonly Tier[])
      return compiled
    }
    const problem = names.length === 0 ? 'policies is empty.' : `two policies are named ${formatValue(twice)}.`
    throw new QuotaError('ERR_SPILLWAY_OPTION', `rateLimit: ${problem} Give it policies with a name each.`)
  }
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const compiled = next(options, building)
    const { tiers } = options as TierOptions
    if (tiers === undefined) return compiled
    const tiered: TieredPolicy<R, S> = { ...compiled, tiers, appliesToEmpty: emptyMatcher(options, building.setup) }
    return tiered
  }
}

/** The checks of the policies that apply to a request. Policies do not wait for each other. */
function checks<R, S>(next: Seams<R, S>['checks']): Seams<R, S>['checks'] {
  return (policies) => {
    const [only] = policies as readonly TieredPolicy<R, S>[]
    if (policies.length < 2 && only?.tiers === undefined) return next(policies)
    const groups = groupsOf(policies)
    return (parts) => {
      const found = groups.map((tiers) => {
        const check = firstOf(tiers, parts)
        // If another check fails first, this promise is not awaited: its rejection must not be unhandled.
        if (check instanceof Promise) check.catch(() => {})
        return check
      })
      return andThen(all(found), onlyFound)
    }
  }
}

/** The headers list all policies that counted a request. */
function headers<R, S>(next: Seams<R, S>['headers']): Seams<R, S>['headers'] {
  return (policies, options) => (policies.length > 1 ? listedHeaders : next(policies, options))
}

/** The checks that apply. The list itself if all do: a copy has room for more than one check. */
const onlyFound = <R, S>(checks: readonly (HttpCheck<R, S> | undefined)[]): readonly HttpCheck<R, S>[] =>
  checks.includes(undefined) ? checks.filter((check) => check !== undefined) : (checks as readonly HttpCheck<R, S>[])
