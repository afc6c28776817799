import { breakerOf } from './breaker.ts'
import { decide, decideOne, takenOne } from './decide.ts'
import type { Decision } from './decision.ts'
import { StoreError } from './errors.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import { andThen, type MaybePromise } from './maybe-promise.ts'
import { type Ask, stepToConsume } from './policy.ts'
import { isSync, type Take } from './store.ts'
import { LONGEST, type Micros } from './time.ts'
import { mostCharged, stepFor, type Terms, type Verb } from './verbs.ts'

/** What was answered to asks that one store takes together: by the store, or by whoever stood in for it. */
export type Part = Answered | (StoodIn & { readonly asks: readonly Ask[] })

interface Answered {
  readonly asks: readonly Ask[]
  readonly decisions: readonly Decision[]
  readonly taken: readonly Taken[]
}

/** Decisions that were made without the store. */
export interface StoodIn {
  readonly decisions: readonly Decision[]
  readonly taken?: never
  /** Undoes what was done instead, for a request that is refused after all. */
  readonly giveBack: () => MaybePromise<void>
}

/** Decides when a store does not answer; rejects where the caller is to know of it. */
export type StandIn = (error: StoreError, asks: readonly Ask[]) => Promise<StoodIn>

/** The takes that a verb makes of asks. */
export const takesFor = (asks: readonly Ask[], verb: Verb, terms?: Terms): readonly Take[] =>
  asks.map((ask) => takeFor(ask, verb, terms))

const takeFor = (ask: Ask, verb: Verb, terms?: Terms): Take => ({
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
    const decision = decideOne(name, straight.quota, straight.step, before)
    return new Alone(asks, decision, () => takenOne(decision.allowed, straight.step, now, before))
  }
  const taken = store.takeOneSync(name, key, step)
  return new Alone(asks, decide(name, quota, cost, step, taken), () => taken)
}

/** Asks the store of a part, and reads its answers. */
export function answerTo(asks: readonly Ask[], takes: readonly Take[], standIn?: StandIn): MaybePromise<Part> {
  const read = (taken: readonly Taken[]): Part => {
    const decisions = asks.map(({ policy, cost }, i) =>
      decide(policy.name, policy.quota, cost, (takes[i] as Take).step, taken[i] as Taken),
    )
    return { asks, decisions, taken }
  }
  const taken = takenFrom(asks, takes)
  if (!(taken instanceof Promise)) return read(taken)
  return taken.then(read, async (error: unknown) => {
    if (standIn && error instanceof StoreError) return { asks, ...(await standIn(error, asks)) }
    throw error
  })
}

/** Asks the store of a part, by the earliest deadline if it is elsewhere. */
function takenFrom(asks: readonly Ask[], takes: readonly Take[]): MaybePromise<readonly Taken[]> {
  const { store } = (asks[0] as Ask).policy.source
  if (isSync(store)) return store.takeSync(takes)
  let deadline: Micros = LONGEST
  for (const { policy } of asks) deadline = Math.min(deadline, policy.source.deadline)
  return breakerOf(store).call(() => store.take(takes), deadline)
}

/** Gives a part back, and tells what is left then; undefined if its store fails, and the units come back with time. */
export function giveBackPart(part: Part): MaybePromise<Part | undefined> {
  if (part.taken === undefined) return andThen(part.giveBack(), () => part)
  const { asks, taken } = part
  const refund = (ask: Ask, i: number): Take => takeFor(ask, 'refund', { of: taken[i] as Taken })
  return unlessFailing(answerTo(asks, asks.map(refund)))
}

/** Gives back what a store that was not waited for has taken after all. */
export function giveBackLate({ late }: StoreError, asks: readonly Ask[]): void {
  const refund = async (answer: unknown): Promise<void> => {
    const taken = answer as readonly Taken[] | undefined
    if (taken?.every(({ allowed }) => allowed)) await giveBackPart({ asks, decisions: [], taken })
  }
  void late?.then(refund)
}

/** Corrects a part to what it really cost: what is left over goes back, what is missing is charged. */
export async function settlePart({ asks, taken }: Part, actualOf: (ask: Ask) => number): Promise<void> {
  if (taken === undefined) return
  const differences = asks.map((ask, i) => ({ ask, over: ask.cost - actualOf(ask), of: taken[i] as Taken }))
  const takesOf = (verb: Verb, sign: number): readonly Take[] =>
    differences
      .filter(({ over }) => over * sign > 0)
      .map(({ ask, over, of }) =>
        takeFor({ ...ask, cost: Math.min(Math.abs(over), mostCharged(ask.policy.quota)) }, verb, { of }),
      )
  for (const takes of [takesOf('refund', 1), takesOf('charge', -1)]) if (takes.length > 0) await takenFrom(asks, takes)
}

/** An answer that nothing depends on: undefined where there is none. */
export const unlessFailing = <T>(answer: MaybePromise<T>): MaybePromise<T | undefined> =>
  answer instanceof Promise ? answer.catch(() => undefined) : answer
