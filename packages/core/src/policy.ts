import { breakerOf } from './breaker.ts'
import { decide, merge } from './decide.ts'
import type { Decision } from './decision.ts'
import { QuotaError, shown } from './errors.ts'
import type { Step, Taken } from './kernels/kernel.ts'
import type { Quota } from './quota.ts'
import { isSync, type Store, type Take } from './store.ts'
import type { Micros } from './time.ts'
import { stepFor, type Terms, type Verb } from './verbs.ts'

/** A quota under the name its states have in a store and its numbers have in headers. */
export interface Policy {
  readonly name: string
  readonly quota: Quota
  /** The step of a plain request, made once. */
  readonly one: Step
}

/** One policy asked about one key. */
export interface Ask {
  readonly policy: Policy
  readonly key: string
  readonly cost: number
}

const KERNELS: readonly string[] = ['bucket', 'sliding-window', 'sliding-log']

/** A store, and how long to wait for its answers. */
export interface Source {
  readonly store: Store
  readonly deadline: Micros
}

/** Names a quota. Names go into headers as they are, hence printable ASCII. */
export function policyOf(name: string, quota: Quota): Policy {
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,100}$/.test(name)) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `a policy name goes into headers: 1 to 100 printable ASCII characters, such as "per-user"; got ${shown(name)}.`,
    )
  }
  if (typeof quota !== 'object' || quota === null || !KERNELS.includes(quota.kernel)) {
    throw new QuotaError(
      'ERR_SPILLWAY_QUOTA',
      `quota must be built by perMinute(100) or one of its siblings; got ${shown(quota)}.`,
    )
  }
  return { name, quota, one: stepFor(quota, 'consume', 1) }
}

/** Asks that were put to a store, and what came of it: enough to give back exactly what was taken. */
export interface Booking {
  readonly asks: readonly Ask[]
  readonly taken: readonly Taken[]
  readonly decision: Decision
}

/** Puts asks to a store, all or none of them, and answers at once if the store can. */
export function put(source: Source, verb: Verb, asks: readonly Ask[], terms?: Terms): Booking | Promise<Booking> {
  const takes = asks.map((each) => takeFor(each, verb, terms))
  const booking = (taken: readonly Taken[]): Booking => ({ asks, taken, decision: answerTo(asks, takes, taken) })
  return isSync(source.store) ? booking(source.store.takeSync(takes)) : takenBy(source, takes).then(booking)
}

/** The answer alone. */
export function ask(source: Source, verb: Verb, asks: readonly Ask[]): Decision | Promise<Decision> {
  const booking = put(source, verb, asks)
  return booking instanceof Promise ? booking.then(({ decision }) => decision) : booking.decision
}

/** Corrects a booking to what it really cost: what is left over goes back, what is missing is charged. */
export async function settleAt(source: Source, booking: Booking, actualOf: (ask: Ask) => number): Promise<void> {
  if (!booking.decision.allowed) return
  const differences = booking.asks.map((ask, i) => ({
    ask,
    over: ask.cost - actualOf(ask),
    of: booking.taken[i] as Taken,
  }))
  const takesOf = (verb: Verb, sign: number): readonly Take[] =>
    differences
      .filter(({ over }) => over * sign > 0)
      .map(({ ask, over, of }) => takeFor({ ...ask, cost: Math.abs(over) }, verb, { of }))
  for (const takes of [takesOf('refund', 1), takesOf('charge', -1)]) if (takes.length > 0) await takenBy(source, takes)
}

function takeFor({ policy, key, cost }: Ask, verb: Verb, terms?: Terms): Take {
  const plain = verb === 'consume' && cost === 1 && terms === undefined
  return { policy: policy.name, key, step: plain ? policy.one : stepFor(policy.quota, verb, cost, terms) }
}

/** Asks a store, by the deadline if it is elsewhere. */
function takenBy({ store, deadline }: Source, takes: readonly Take[]): Promise<readonly Taken[]> {
  if (isSync(store)) return Promise.resolve(store.takeSync(takes))
  return breakerOf(store).call(() => store.take(takes), deadline)
}

function answerTo(asks: readonly Ask[], takes: readonly Take[], taken: readonly Taken[]): Decision {
  const answer = ({ policy, cost }: Ask, i: number): Decision =>
    decide(policy.name, policy.quota, cost, (takes[i] as Take).step, taken[i] as Taken)
  return asks.length === 1 ? answer(asks[0] as Ask, 0) : merge(asks.map(answer))
}
