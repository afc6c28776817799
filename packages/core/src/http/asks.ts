import { all, andThen, type MaybePromise } from '../maybe-promise.ts'
import { spilling } from '../spill.ts'
import type { Rule } from './rule.ts'
import type { ClaimsOf } from './sources.ts'
import type { ToldAsk, ToldPolicy } from './teller.ts'

/** The checks of the policies that apply to a request. */
export interface Asks {
  /** Checks of enforced policies. */
  readonly enforced: readonly ToldAsk[]
  /** Checks of shadow policies. */
  readonly shadowed: readonly ToldAsk[]
}

const NONE: readonly ToldAsk[] = Object.freeze([])

/**
 * The checks of a request: returned in the same tick, unless a function of the options returns a promise. Policies do
 * not wait for each other.
 */
export function asksOf<R, S>(rules: readonly Rule<R, S>[], request: R, claims: ClaimsOf): MaybePromise<Asks> {
  const asks: MaybePromise<ToldAsk | undefined>[] = []
  for (const rule of rules) {
    const ask = askOf(rule, request, claims)
    // If another check fails first, this promise is not awaited: its rejection must not be unhandled.
    if (ask instanceof Promise) ask.catch(() => {})
    asks.push(ask)
  }
  return andThen(all(asks), (known) => sorted(rules, known))
}

function sorted<R, S>(rules: readonly Rule<R, S>[], asks: readonly (ToldAsk | undefined)[]): Asks {
  const enforced: ToldAsk[] = []
  // Allocated on demand: most requests have no shadow policies.
  let shadowed: ToldAsk[] | undefined
  for (let i = 0; i < asks.length; i++) {
    const ask = asks[i]
    if (ask === undefined) continue
    if (rules[i]?.shadow) {
      shadowed ??= []
      shadowed.push(ask)
    } else enforced.push(ask)
  }
  return { enforced: rules.some(spills) ? spilled(rules, asks) : enforced, shadowed: shadowed ?? NONE }
}

const spills = ({ target }: Pick<Rule<unknown, unknown>, 'target'>): boolean => target >= 0

const spilled = <R, S>(rules: readonly Rule<R, S>[], asks: readonly (ToldAsk | undefined)[]): readonly ToldAsk[] =>
  spilling(
    asks.map((ask, i) => (rules[i]?.shadow ? undefined : ask)),
    rules.map(({ target }) => target),
  )

// One step after the other, in the order that the docs document. Closures are made for promises only.

function askOf<R, S>(rule: Rule<R, S>, request: R, claims: ClaimsOf): MaybePromise<ToldAsk | undefined> {
  const applies = rule.applies?.(request, claims)
  if (!(applies instanceof Promise)) return applies === false ? undefined : withKey(rule, request, claims)
  return applies.then((known) => (known ? withKey(rule, request, claims) : undefined))
}

function withKey<R, S>(rule: Rule<R, S>, request: R, claims: ClaimsOf): MaybePromise<ToldAsk | undefined> {
  const key = rule.keyOf(request, claims)
  return key instanceof Promise ? key.then((known) => withPolicy(rule, request, known)) : withPolicy(rule, request, key)
}

function withPolicy<R, S>(rule: Rule<R, S>, request: R, key: string | undefined): MaybePromise<ToldAsk | undefined> {
  if (key === undefined) return undefined
  const policy = rule.policyFor(request)
  return policy instanceof Promise
    ? policy.then((known) => withPartition(rule, request, key, known))
    : withPartition(rule, request, key, policy)
}

function withPartition<R, S>(rule: Rule<R, S>, request: R, key: string, policy: ToldPolicy): MaybePromise<ToldAsk> {
  const pk = rule.partitionOf?.(key) ?? ''
  return pk instanceof Promise
    ? pk.then((known) => withCost(rule, request, key, policy, known))
    : withCost(rule, request, key, policy, pk)
}

function withCost<R, S>(
  rule: Rule<R, S>,
  request: R,
  key: string,
  policy: ToldPolicy,
  pk: string,
): MaybePromise<ToldAsk> {
  const cost = rule.costOf(request)
  return cost instanceof Promise ? cost.then((known) => ({ policy, key, cost: known, pk })) : { policy, key, cost, pk }
}
