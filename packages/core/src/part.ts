import { breakerOf } from './breaker.ts'
import { type CallDeadline, deadlineIn, unlessExpired } from './deadline.ts'
import { decide, decideOne, takenOne } from './decide.ts'
import type { Decision } from './decision.ts'
import { StoreError } from './errors.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import { type Ask, stepToConsume } from './policy.ts'
import { isSync, type Take } from './store.ts'
import { mostCharged, stepFor, type Terms, type Verb } from './verbs.ts'

/** What was answered to asks that one store takes together: by the store, or by what decided in its place. */
export type Part = Answered | Fallback

export interface Answered {
  readonly asks: readonly Ask[]
  readonly decisions: readonly Decision[]
  readonly taken: readonly Taken[]
}

/** Decisions that were made without the store. */
export interface Fallback {
  readonly asks: readonly Ask[]
  readonly decisions: readonly Decision[]
  readonly taken?: never
  /** Gives back what was taken instead, for a request that is denied after all. */
  readonly giveBack: () => Promise<Pick<Part, 'asks' | 'decisions'>>
  /** Corrects what was taken instead to what it really cost. */
  readonly settle: (actualOf: (ask: Ask) => number) => Promise<void>
}

/** Asks that were put to their stores, and what came of it: enough to give back exactly what was taken. */
export interface Booking {
  /** Those that were answered, in the order they were asked. */
  readonly asks: readonly Ask[]
  readonly decision: Decision
  readonly parts: readonly Part[]
}

/** The takes that a verb makes of asks. */
export const takesFor = (asks: readonly Ask[], verb: Verb, terms?: Terms): readonly Take[] =>
  asks.map((ask) => takeFor(ask, verb, terms))

export const takeFor = (ask: Ask, verb: Verb, terms?: Terms): Take => ({
  policy: ask.policy.name,
  key: ask.key,
  step: stepOf(ask, verb, terms),
})

const stepOf = ({ policy, cost }: Ask, verb: Verb, terms?: Terms): Step =>
  verb === 'consume' && terms === undefined ? stepToConsume(policy, cost) : stepFor(policy.quota, verb, cost, terms)

/**
 * What a store in this process has answered to one ask, and a booking of it: nearly every request has just that. The lists
 * that several need are made when they are asked for.
 */
class Alone implements Answered {
  readonly asks: readonly Ask[]
  readonly decision: Decision
  readonly #taken: () => Taken

  constructor(asks: readonly Ask[], decision: Decision, taken: () => Taken) {
    this.asks = asks
    this.decision = decision
    this.#taken = taken
  }

  get parts(): readonly Part[] {
    return [this]
  }

  get decisions(): readonly Decision[] {
    return [this.decision]
  }

  get taken(): readonly Taken[] {
    return [this.#taken()]
  }
}

/** Asks a store in this process one thing; undefined where there is more to it. */
export function answerAlone(asks: readonly Ask[], verb: Verb, terms?: Terms): Alone | undefined {
  const ask = asks[0] as Ask
  const { policy, key, cost } = ask
  const { store } = policy.source
  if (asks.length > 1 || !isSync(store) || !store.takeOneSync) return undefined
  const { name, quota, straight } = policy
  const step = stepOf(ask, verb, terms)
  if (step === straight?.step && store.clock) {
    const now = store.clock()
    const before = straight.take(key, now)
    if (!Number.isNaN(before)) {
      const decision = decideOne(name, straight.quota, straight.step, before)
      return new Alone(asks, decision, () => takenOne(decision.allowed, straight.quota, now, before))
    }
  }
  const taken = store.takeOneSync(name, key, step)
  return new Alone(asks, decide(name, quota, cost, step, taken), () => taken)
}

/** Puts asks to their one store, and reads its answers. */
export function answerTo(
  asks: readonly Ask[],
  takes: readonly Take[],
  deadline?: CallDeadline,
): MaybePromise<Answered> {
  return andThen(takenFrom(asks, takes, deadline), (taken) => {
    const decisions = asks.map(({ policy, cost }, i) =>
      decide(policy.name, policy.quota, cost, (takes[i] as Take).step, taken[i] as Taken),
    )
    return { asks, decisions, taken }
  })
}

/** When the earliest of the policies that one store takes together stops waiting for what began at `startMs`. */
export const deadlineOf = (asks: readonly Ask[], startMs?: number): CallDeadline =>
  deadlineIn(Math.min(...asks.map(({ policy }) => policy.source.deadline)), startMs)

function takenFrom(
  asks: readonly Ask[],
  takes: readonly Take[],
  deadline?: CallDeadline,
): MaybePromise<readonly Taken[]> {
  const { store, logger } = (asks[0] as Ask).policy.source
  if (isSync(store)) return store.takeSync(takes)
  const until = deadline ?? deadlineOf(asks)
  return breakerOf(store).call(takes[0] as Take, () => store.take(takes, undefined, until), until, logger)
}

/**
 * Gives units back. A refund that was not sent is kept until the store answers again; one that was sent is never sent
 * again, as it may have been made: it is counted if it fails. Rejects if the refund has not been made yet.
 */
async function refundTo(asks: readonly Ask[], takes: readonly Take[]): Promise<Answered> {
  try {
    return await answerTo(asks, takes)
  } catch (error) {
    if (error instanceof StoreError) {
      const breaker = breakerOf((asks[0] as Ask).policy.source.store)
      if (error.reason !== 'error' && error.late === undefined) breaker.owe(takes)
      else void Promise.resolve(error.late).then((answer) => answer ?? breaker.dropped())
    }
    throw error
  }
}

export const refundsOf = ({ asks, taken }: Pick<Answered, 'asks' | 'taken'>): readonly Take[] =>
  asks.map((ask, i) => takeFor(ask, 'refund', { of: taken[i] as Taken }))

/** Gives a part back, and reports what is left then; undefined if that is not known by the deadline. */
export function giveBackPart(part: Part, deadline?: CallDeadline): MaybePromise<Part | undefined> {
  if (part.taken === undefined) return part.giveBack().then((undone) => ({ ...part, ...undone }))
  const { asks } = part
  if (isSync((asks[0] as Ask).policy.source.store)) return answerTo(asks, refundsOf(part))
  const refunded = refundTo(asks, refundsOf(part))
  return unlessExpired(refunded, deadline ?? deadlineOf(asks))
}

/**
 * Gives back what a store takes after its caller was told that it failed. The refund does not pass the circuit, which
 * this lateness may have opened: the store has just answered.
 */
export function giveBackLate({ late }: StoreError, asks: readonly Ask[]): void {
  void late?.then((answer) => {
    const taken = answer as readonly Taken[] | undefined
    if (!taken?.every(({ allowed }) => allowed)) return
    breakerOf((asks[0] as Ask).policy.source.store).owe(refundsOf({ asks, taken }), true)
  })
}

/** Corrects a part to what it really cost: what is left over is refunded, what is missing is charged. */
export async function settlePart(part: Part, actualOf: (ask: Ask) => number): Promise<void> {
  if (part.taken === undefined) return part.settle(actualOf)
  const { asks, taken } = part
  const differences = asks.map((ask, i) => ({ ask, over: ask.cost - actualOf(ask), of: taken[i] as Taken }))
  const corrections = (verb: Verb, sign: number): { asks: readonly Ask[]; takes: readonly Take[] } => {
    const due = differences
      .filter(({ over }) => over * sign > 0)
      .map(({ ask, over, of }) => ({
        ask: { ...ask, cost: Math.min(Math.abs(over), mostCharged(ask.policy.quota)) },
        of,
      }))
    return { asks: due.map(({ ask }) => ask), takes: due.map(({ ask, of }) => takeFor(ask, verb, { of })) }
  }
  const refunds = corrections('refund', 1)
  if (refunds.takes.length > 0) await refundTo(refunds.asks, refunds.takes)
  const charges = corrections('charge', -1)
  if (charges.takes.length > 0) await chargeTo(charges.asks, charges.takes)
}

/** Charges; a charge that is reported as failed is given back, should it be made later. */
async function chargeTo(asks: readonly Ask[], takes: readonly Take[]): Promise<void> {
  try {
    await answerTo(asks, takes)
  } catch (error) {
    if (error instanceof StoreError) giveBackLate(error, asks)
    throw error
  }
}
