import { merge } from './decide.ts'
import type { Decision } from './decision.ts'
import { answerOrFallBack } from './fallback.ts'
import { deadlines, inTurn } from './in-turn.ts'
import { all, andThen, type MaybePromise } from './maybe-promise.ts'
import { answerAlone, answerTo, type Booking, giveBackPart, type Part, settlePart, takesFor } from './part.ts'
import { type Ask, partsOf } from './policy.ts'
import { spillOver } from './spill.ts'
import type { Terms, Verb } from './verbs.ts'

export type { Booking } from './part.ts'

/**
 * Puts asks to their stores, all or none of them. If one is denied that has a spill policy, that is asked in its place:
 * denied asks have consumed nothing.
 */
export function put(verb: Verb, asks: readonly Ask[], terms?: Terms): MaybePromise<Booking> {
  const booking = putOnce(verb, asks, terms)
  if (!asks.some(hasSpill) || verb === 'refund' || verb === 'charge') return booking
  return andThen(booking, (first) => spillOver(first, asks, (others) => putOnce(verb, others, terms)))
}

const hasSpill = ({ spill }: Ask): boolean => spill !== undefined

/**
 * Puts asks to their stores, all or none of them, and answers at once if the stores can. One store takes all or none by
 * itself. Several are asked in turn, and when one refuses or fails, those before it are given back what they took; so
 * for a moment others may find less there than there is.
 */
function putOnce(verb: Verb, asks: readonly Ask[], terms?: Terms): MaybePromise<Booking> {
  const alone = answerAlone(asks, verb, terms)
  if (alone !== undefined) return alone
  const parts = partsOf(asks)
  if (parts.length === 1) {
    return andThen(answerOrFallBack(asks, verb, terms), (part) => bookingOf(asks, [part]))
  }
  const deadlineFor = deadlines()
  const answer = (part: readonly Ask[]): MaybePromise<Part> => answerOrFallBack(part, verb, terms, deadlineFor(part))
  const peek = (part: readonly Ask[]): MaybePromise<Part> => answerTo(part, takesFor(part, 'peek', terms))
  const answers = verb === 'consume' ? inTurn(parts, answer, peek, deadlineFor) : all(parts.map(answer))
  return andThen(answers, (answered) => bookingOf(asks, answered))
}

/** The answer alone. */
export const ask = (verb: Verb, asks: readonly Ask[]): MaybePromise<Decision> =>
  andThen(put(verb, asks), ({ decision }) => decision)

/** Corrects a booking to what it really cost: what is left over goes back, what is missing is charged. */
export async function settleAt({ decision, parts }: Booking, actualOf: (ask: Ask) => number): Promise<void> {
  if (decision.allowed) await Promise.all(parts.map((part) => settlePart(part, actualOf)))
}

/** Gives all of a booking back. What a failing store keeps comes back with time. */
export async function giveBack({ decision, parts }: Booking): Promise<void> {
  if (decision.allowed) await all(parts.map((part) => giveBackPart(part)))
}

function bookingOf(asks: readonly Ask[], parts: readonly Part[]): Booking {
  const [only, ...others] = parts
  if (only !== undefined && others.length === 0) {
    const [decision, ...rest] = only.decisions as readonly [Decision, ...Decision[]]
    return { asks: only.asks, parts, decision: rest.length === 0 ? decision : merge(only.decisions) }
  }
  const found = new Map(parts.flatMap(({ asks, decisions }) => asks.map((ask, i) => [ask, decisions[i] as Decision])))
  const answered = asks.filter((ask) => found.has(ask))
  return { asks: answered, parts, decision: merge(answered.map((ask) => found.get(ask) as Decision)) }
}
