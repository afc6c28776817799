import { all, andThen, type MaybePromise } from '../maybe-promise.ts'
import { spilling } from '../spill.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import type { HttpCheck, HttpPolicy } from './header-builder.ts'
import type { ClaimsOf } from './request-sources.ts'

/** The checks of the policies that apply to a request. */
export interface PolicyChecks {
  /** Checks of enforced policies. */
  readonly enforced: readonly HttpCheck[]
  /** Checks of shadow policies. */
  readonly shadowed: readonly HttpCheck[]
}

const NONE: readonly HttpCheck[] = Object.freeze([])

/**
 * The checks of a request: returned in the same tick, unless a function of the options returns a promise. Policies do
 * not wait for each other.
 */
export function policyChecksOf<R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
  request: R,
  claims: ClaimsOf,
): MaybePromise<PolicyChecks> {
  const checks: MaybePromise<HttpCheck | undefined>[] = []
  for (const compiled of compiledPolicies) {
    const check = checkOf(compiled, request, claims)
    // If another check fails first, this promise is not awaited: its rejection must not be unhandled.
    if (check instanceof Promise) check.catch(() => {})
    checks.push(check)
  }
  return andThen(all(checks), (known) => sorted(compiledPolicies, known))
}

function sorted<R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
  checks: readonly (HttpCheck | undefined)[],
): PolicyChecks {
  const enforced: HttpCheck[] = []
  // Allocated on demand: most requests have no shadow policies.
  let shadowed: HttpCheck[] | undefined
  for (let i = 0; i < checks.length; i++) {
    const check = checks[i]
    if (check === undefined) continue
    if (compiledPolicies[i]?.shadow) {
      shadowed ??= []
      shadowed.push(check)
    } else enforced.push(check)
  }
  return {
    enforced: compiledPolicies.some(spills) ? spilled(compiledPolicies, checks) : enforced,
    shadowed: shadowed ?? NONE,
  }
}

const spills = ({ target }: Pick<CompiledPolicy<unknown, unknown>, 'target'>): boolean => target >= 0

const spilled = <R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
  checks: readonly (HttpCheck | undefined)[],
): readonly HttpCheck[] =>
  spilling(
    checks.map((check, i) => (compiledPolicies[i]?.shadow ? undefined : check)),
    compiledPolicies.map(({ target }) => target),
  )

// One step after the other, in the order that the docs document. Closures are made for promises only.

function checkOf<R, S>(
  compiled: CompiledPolicy<R, S>,
  request: R,
  claims: ClaimsOf,
): MaybePromise<HttpCheck | undefined> {
  const applies = compiled.applies?.(request, claims)
  if (!(applies instanceof Promise)) return applies === false ? undefined : withKey(compiled, request, claims)
  return applies.then((known) => (known ? withKey(compiled, request, claims) : undefined))
}

function withKey<R, S>(
  compiled: CompiledPolicy<R, S>,
  request: R,
  claims: ClaimsOf,
): MaybePromise<HttpCheck | undefined> {
  const key = compiled.keyOf(request, claims)
  return key instanceof Promise
    ? key.then((known) => withPolicy(compiled, request, known))
    : withPolicy(compiled, request, key)
}

function withPolicy<R, S>(
  compiled: CompiledPolicy<R, S>,
  request: R,
  key: string | undefined,
): MaybePromise<HttpCheck | undefined> {
  if (key === undefined) return undefined
  const policy = compiled.policyFor(request)
  return policy instanceof Promise
    ? policy.then((known) => withPartition(compiled, request, key, known))
    : withPartition(compiled, request, key, policy)
}

function withPartition<R, S>(
  compiled: CompiledPolicy<R, S>,
  request: R,
  key: string,
  policy: HttpPolicy,
): MaybePromise<HttpCheck> {
  const pk = compiled.partitionOf?.(key) ?? ''
  return pk instanceof Promise
    ? pk.then((known) => withCost(compiled, request, key, policy, known))
    : withCost(compiled, request, key, policy, pk)
}

function withCost<R, S>(
  compiled: CompiledPolicy<R, S>,
  request: R,
  key: string,
  policy: HttpPolicy,
  pk: string,
): MaybePromise<HttpCheck> {
  const cost = compiled.costOf(request)
  return cost instanceof Promise ? cost.then((known) => ({ policy, key, cost: known, pk })) : { policy, key, cost, pk }
}
