import { spilling } from '../../checks/spill.ts'
import { all, andThen, type MaybePromise } from '../../common/maybe-promise.ts'
import { NONE } from '../../decisions/decision.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'
import type { CompiledPolicy, HttpPolicy } from '../policies/compile-policy.ts'
import type { RequestParts } from '../requests/parts.ts'

/** A check of a policy and one key, with what follows from its result. */
export interface HttpCheck<R = unknown, S = unknown> extends PolicyCheck {
  readonly policy: HttpPolicy
  /** The options of the policy: how its denials are answered, and its costs corrected. */
  readonly compiled: CompiledPolicy<R, S>
  /** The partition of the key as headers have it. */
  readonly pk: string
  readonly spill?: HttpCheck<R, S>
}

/** The checks of a request's acquisition: requests are checked by compiled policies only. */
export const checksOf = <R, S>({ checks }: Pick<Acquisition, 'checks'>): readonly HttpCheck<R, S>[] =>
  checks as readonly HttpCheck<R, S>[]

/** The check of the policy that a decision names. */
export const checkNamed = <R, S>(acquisition: Pick<Acquisition, 'checks'>, name: string): HttpCheck<R, S> =>
  checksOf<R, S>(acquisition).find(({ policy }) => policy.name === name) as HttpCheck<R, S>

type Found<R, S> = HttpCheck<R, S> | undefined

/**
 * Builds the function that reads the checks of the enforced policies that apply to a request: in the same tick, unless a
 * function of the options returns a promise. Policies do not wait for each other.
 */
export function enforcedChecksOf<R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
): (parts: RequestParts<R>) => MaybePromise<readonly HttpCheck<R, S>[]> {
  const groups = tiersOf(compiledPolicies.filter(({ mode }) => mode === 'enforce'))
  const targets = compiledPolicies.map(({ target }) => target)
  const spills = targets.some((target) => target >= 0)
  const blocks = compiledPolicies.some(({ blockList }) => blockList !== undefined)
  const consumed = (checks: readonly Found<R, S>[]): readonly HttpCheck<R, S>[] =>
    spills ? spilling(inOrder(compiledPolicies, checks), targets) : onlyFound(checks)
  const sorted = (checks: readonly Found<R, S>[]): readonly HttpCheck<R, S>[] =>
    blocks ? [...consumed(checks), ...blockListsOf(onlyFound(checks))] : consumed(checks)
  const [only] = groups
  if (only !== undefined && groups.length === 1 && !spills && !blocks) {
    return (parts) => andThen(checkOf(only, parts), asList)
  }
  return (parts) => {
    const checks = groups.map((tiers) => {
      const check = checkOf(tiers, parts)
      // If another check fails first, this promise is not awaited: its rejection must not be unhandled.
      if (check instanceof Promise) check.catch(() => {})
      return check
    })
    return andThen(all(checks), sorted)
  }
}

/** Builds the functions that read the checks of shadow policies: one for each policy, or group of tiers. */
export const shadowChecksOf = <R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
): readonly ((parts: RequestParts<R>) => MaybePromise<Found<R, S>>)[] =>
  tiersOf(compiledPolicies.filter(({ mode }) => mode === 'shadow')).map((tiers) => (parts) => checkOf(tiers, parts))

/** The checks of the block lists of checks. */
export const blockListsOf = <R, S>(checks: readonly HttpCheck<R, S>[]): readonly HttpCheck<R, S>[] =>
  checks.flatMap((check) => {
    const { blockList } = check.compiled
    return blockList === undefined ? [] : [{ ...check, policy: blockList }]
  })

/** Most limiters have one policy: without lists of checks to sort. */
const asList = <R, S>(check: Found<R, S>): readonly HttpCheck<R, S>[] => (check === undefined ? NONE : [check])

/** The checks that apply. The list itself if all do: a copy has room for more than one check. */
const onlyFound = <R, S>(checks: readonly Found<R, S>[]): readonly HttpCheck<R, S>[] =>
  checks.includes(undefined) ? checks.filter((check) => check !== undefined) : (checks as readonly HttpCheck<R, S>[])

/** The check of each policy; undefined if it is a shadow policy, or does not apply. */
const inOrder = <R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
  checks: readonly Found<R, S>[],
): readonly Found<R, S>[] => {
  const found = new Map(checks.map((check) => [check?.compiled.name, check]))
  return compiledPolicies.map(({ name }) => found.get(name))
}

/**
 * The policies of one mode as groups of tiers, in the order of their first; a policy without tiers is a group of its own. With empty
 * parameters a path may be that of another route, so all tiers are tried without before any is tried with them: one that has
 * them must not take the place of one that does not. A tier for all others is last: else it would be a way around them.
 */
function tiersOf<R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
): readonly (readonly CompiledPolicy<R, S>[])[] {
  const groups = new Map<unknown, CompiledPolicy<R, S>[]>()
  for (const compiled of compiledPolicies) {
    // A policy without tiers is a group by itself.
    const group = compiled.tiers ?? compiled
    const known = groups.get(group)
    if (known === undefined) groups.set(group, [compiled])
    else known.push(compiled)
  }
  return [...groups.values()].map((tiers) => {
    const [conditional, others] = [tiers.filter(({ applies }) => applies), tiers.filter(({ applies }) => !applies)]
    return [...conditional, ...conditional.flatMap(withEmpty), ...others]
  })
}

/** A tier with its test of paths with empty parameters. */
const withEmpty = <R, S>(tier: CompiledPolicy<R, S>): readonly CompiledPolicy<R, S>[] =>
  tier.appliesToEmpty === undefined ? [] : [{ ...tier, applies: tier.appliesToEmpty }]

// One step after the other, in the order that the docs document. Closures are made for promises only.

/** The check of the first tier that applies to the request. */
function checkOf<R, S>(tiers: readonly CompiledPolicy<R, S>[], parts: RequestParts<R>): MaybePromise<Found<R, S>> {
  // No recursion: there may be a thousand tiers.
  for (const [i, compiled] of tiers.entries()) {
    const applies = compiled.applies?.(parts)
    if (applies instanceof Promise) return checkLater(tiers, i, applies, parts)
    if (applies !== false) return withKey(compiled, parts)
  }
  return undefined
}

/** The same, from a tier on whose function has returned a promise. */
async function checkLater<R, S>(
  tiers: readonly CompiledPolicy<R, S>[],
  index: number,
  pending: Promise<boolean>,
  parts: RequestParts<R>,
): Promise<Found<R, S>> {
  let applies: boolean | undefined = await pending
  for (const [i, compiled] of tiers.slice(index).entries()) {
    if (i > 0) applies = await compiled.applies?.(parts)
    if (applies !== false) return withKey(compiled, parts)
  }
  return undefined
}

function withKey<R, S>(compiled: CompiledPolicy<R, S>, parts: RequestParts<R>): MaybePromise<Found<R, S>> {
  const key = compiled.keyOf(parts)
  return key instanceof Promise
    ? key.then((known) => withPolicy(compiled, parts, known))
    : withPolicy(compiled, parts, key)
}

function withPolicy<R, S>(
  compiled: CompiledPolicy<R, S>,
  parts: RequestParts<R>,
  key: string | undefined,
): MaybePromise<Found<R, S>> {
  if (key === undefined) return undefined
  const policy = compiled.policyFor(parts.request)
  return policy instanceof Promise
    ? policy.then((known) => withPartition(compiled, parts, key, known))
    : withPartition(compiled, parts, key, policy)
}

function withPartition<R, S>(
  compiled: CompiledPolicy<R, S>,
  parts: RequestParts<R>,
  key: string,
  policy: HttpPolicy,
): MaybePromise<HttpCheck<R, S>> {
  const pk = compiled.partitionOf?.(key) ?? ''
  return pk instanceof Promise
    ? pk.then((known) => withCost(compiled, parts, key, policy, known))
    : withCost(compiled, parts, key, policy, pk)
}

function withCost<R, S>(
  compiled: CompiledPolicy<R, S>,
  parts: RequestParts<R>,
  key: string,
  policy: HttpPolicy,
  pk: string,
): MaybePromise<HttpCheck<R, S>> {
  const cost = compiled.costOf(parts)
  return cost instanceof Promise
    ? cost.then((known) => ({ policy, key, cost: known, compiled, pk }))
    : { policy, key, cost, compiled, pk }
}
