import { merge } from './decide.ts'
import type { Decision } from './decision.ts'
import { QuotaError, shown } from './errors.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import { guess } from './options.ts'
import type { Booking } from './part.ts'
import type { Ask, Emptied } from './policy.ts'

/**
 * Asks the spill policies of those that deny in their place, until all allow or one that denies has none. A denied booking
 * has consumed nothing, so that each round is one of its own: the second one sees the stores a moment later.
 */
export function spillOver(
  booking: Booking,
  asks: readonly Ask[],
  putAgain: (asks: readonly Ask[]) => MaybePromise<Booking>,
): MaybePromise<Booking> {
  const { decision } = booking
  const emptied = asks.some((ask) => ask.emptied)
  if (decision.allowed)
    return emptied ? { ...partsOf(booking), decision: { ...decision, ...spilledOf(asks) } } : booking
  const decisionOf = decisionsOf(booking)
  const next = asks.map((ask) => insteadOf(ask, decisionOf(ask)))
  if (next.every((ask) => ask !== undefined)) {
    return andThen(putAgain(next), (again) => spillOver(again, next, putAgain))
  }
  return emptied ? deniedBooking(booking, asks, decisionOf) : booking
}

type DecisionOf = (ask: Ask) => Decision | undefined

function decisionsOf({ asks, decision }: Booking): DecisionOf {
  const decisions = decision.policies ?? [decision]
  return (ask) => decisions[asks.indexOf(ask)]
}

/** What is asked next: the same where it does not deny, and undefined where nothing else can be asked. */
function insteadOf(ask: Ask, decision: Decision | undefined): Ask | undefined {
  if (decision === undefined || decision.allowed) return ask
  // A store that has failed says nothing of what is left.
  if (ask.spill === undefined || decision.degraded?.action === 'deny') return undefined
  return { ...ask.spill, emptied: [...(ask.emptied ?? []), { ask, decision }] }
}

const partsOf = ({ asks, parts }: Booking): Pick<Booking, 'asks' | 'parts'> => ({ asks, parts })

const spilledOf = (asks: readonly Ask[]): Pick<Decision, 'spilled'> => ({
  spilled: asks.flatMap(({ emptied = [] }) => emptied.map(({ ask }) => ask.policy.name)),
})

/** All that deny, and the wait until one of each chain does not. */
function deniedBooking(booking: Booking, asks: readonly Ask[], decisionOf: DecisionOf): Booking {
  const chains = asks.map((ask): readonly Emptied[] => {
    const decision = decisionOf(ask)
    return [...(ask.emptied ?? []), ...(decision ? [{ ask, decision }] : [])]
  })
  const all = chains.flat()
  const waiting = chains.flatMap((chain) => {
    const last = chain.at(-1)?.decision
    if (last === undefined) return []
    return [last.allowed ? last : chain.map(({ decision }) => decision).reduce(sooner)]
  })
  const { policies: _, ...merged } = merge(waiting)
  return {
    parts: booking.parts,
    asks: all.map(({ ask }) => ask),
    decision: {
      ...merged,
      violated: all.filter(({ decision }) => !decision.allowed).map(({ ask }) => ask.policy.name),
      ...spilledOf(asks),
      policies: all.map(({ decision }) => decision),
    },
  }
}

const sooner = (a: Decision, b: Decision): Decision => (b.retryAfterMs < a.retryAfterMs ? b : a)

/** For each of several asks, the place of its spill policy among them; -1 if it has none. */
export type Targets = readonly number[]

/** The asks that are put first, each with its spill policy, which is not one of them. What is not asked spills nowhere. */
export function spilling<A extends { readonly spill?: A }>(
  asks: readonly (A | undefined)[],
  targets: Targets,
): readonly A[] {
  const at = (place: number): A | undefined => {
    const ask = asks[place]
    const spill = (targets[place] ?? -1) < 0 ? undefined : at(targets[place] as number)
    return ask && spill ? { ...ask, spill } : ask
  }
  return asks.map((_, place) => (targets.includes(place) ? undefined : at(place))).filter((ask) => ask !== undefined)
}

interface Spilling {
  readonly name?: string
  readonly spill?: string
  readonly mode?: 'enforce' | 'shadow'
}

const nameOf = ({ name = 'default' }: Spilling): string => name

/** Checks which of several policies spills over to which. A shadow denies nothing, and nothing is consumed from it. */
export function checkSpills(policies: readonly Spilling[]): void {
  const spilled = policies.filter(({ spill }) => spill !== undefined)
  const enforced = policies.filter(({ mode }) => mode !== 'shadow')
  if (spilled.length > 0) {
    checkSpill(Object.fromEntries(spilled.map((each) => [nameOf(each), each.spill])), enforced.map(nameOf))
  }
}

/** Checks which policy spills over to which; `names` are those of all policies. */
export function checkSpill(spill: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const targets = Object.values(spill)
  for (const [from, to] of Object.entries(spill)) {
    const problem = problemOf(spill, names, from, to)
    if (problem !== undefined) throw refusal(problem)
    if (targets.indexOf(to) !== targets.lastIndexOf(to)) {
      throw refusal(`two policies spill over to ${shown(to)}. Give each a spill policy of its own.`)
    }
  }
}

function problemOf(
  spill: Readonly<Record<string, unknown>>,
  names: readonly string[],
  from: string,
  to: unknown,
): string | undefined {
  for (const name of [from, to]) {
    if (names.includes(name as string)) continue
    const meant = typeof name === 'string' ? guess(name, names) : undefined
    return `spill names an enforced policy; there is none named ${shown(name)}. ${meant ?? `There are ${names.map(shown).join(', ')}.`}`
  }
  const seen = [from]
  for (let next = to; typeof next === 'string'; next = Object.hasOwn(spill, next) ? spill[next] : undefined) {
    if (next === from)
      return `policy ${shown(from)} spills over to itself, by ${[...seen, next].map(shown).join(' → ')}.`
    if (seen.includes(next)) return undefined
    seen.push(next)
  }
  return undefined
}

const refusal = (problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_OPTION', `${problem} Write spill: 'extra', the name of the policy that takes over.`)
