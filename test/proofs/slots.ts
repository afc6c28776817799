import assert from 'node:assert/strict'
import type { SlotsQuota } from '../../packages/core/src/index.ts'
import { slotsKernel } from '../../packages/core/src/kernels/kernels.ts'
import type { SlotsOutcome, SlotsState, SlotsStep, SlotsTaken } from '../../packages/core/src/kernels/slots.ts'
import type { Program } from './replay.ts'

// Every order of calls and times, of few slots that are held for 3 µs. In it, any number of holders acquire one slot or two,
// renew and release them, in time or late; units are charged and refunded without a number; time passes by 1 µs or by 3, and
// the store's clock is set back by 2. A holder that is killed is one that calls no more, and one that was stopped calls late.
// After each call, the slots in the store are compared with what the call may change of those before it. Stores lose no state
// here, clocks are not set ahead, and no quota changes: what these do is in `conformance/src/changes.ts` and in the simulations.

const TTL = 3
const START = 1_000_000

/** What is done next. The clock of the store passes, or is set back; a holder calls, or is late to. */
type Action =
  | { readonly does: 'pass'; readonly micros: number }
  | { readonly does: 'back'; readonly micros: number }
  | { readonly does: 'acquire'; readonly cost: number }
  | { readonly does: 'charge'; readonly cost: number }
  | { readonly does: 'refund'; readonly cost: number }
  | { readonly does: 'release'; readonly of: number }
  | { readonly does: 'renew'; readonly of: number }

const ALWAYS: readonly Action[] = [
  { does: 'pass', micros: 1 },
  { does: 'pass', micros: TTL },
  { does: 'back', micros: 2 },
  { does: 'acquire', cost: 1 },
  { does: 'acquire', cost: 2 },
  { does: 'charge', cost: 2 },
  { does: 'refund', cost: 1 },
]

/** Slots that were acquired together, as their holder knows them. */
interface Holding {
  readonly id: number
  readonly count: number
  /** The time that has passed since they were acquired or renewed, however the clock was set. */
  readonly age: number
  /** Released by its holder, or by a refund of no number. */
  readonly isReleased: boolean
}

interface Situation {
  readonly quota: SlotsQuota
  readonly now: number
  readonly state: SlotsState | undefined
  readonly holdings: readonly Holding[]
  readonly path: readonly Action[]
}

type Slots = ReadonlyMap<number, number>

const slotsOf = (state: SlotsState | undefined): Slots => {
  const slots = new Map<number, number>()
  const list = state?.slots ?? []
  for (let i = 0; i < list.length; i += 2) slots.set(list[i] as number, list[i + 1] as number)
  return slots
}

const numbersOf = ({ id, count }: Holding): readonly number[] => Array.from({ length: count }, (_, i) => id + i)

const without = (slots: Slots, numbers: readonly number[]): Slots =>
  new Map([...slots].filter(([number]) => !numbers.includes(number)))

/** A step, as a store runs it, and what each step must leave of the slots that it finds. */
class Call {
  readonly now: number
  readonly taken: SlotsTaken
  readonly state: SlotsState | undefined
  /** The slots before, held from now for their time to live at most. */
  readonly before: Slots
  readonly after: Slots

  constructor(
    program: Program,
    { quota, state, now }: Situation,
    verb: 'consume' | 'charge' | 'refund',
    cost: number,
    of?: Holding,
  ) {
    const step = program.stepFor(quota, verb, cost, of ? { original: { id: of.id } as SlotsTaken } : {}) as SlotsStep
    const outcome = program.runKernel(state, now, step) as SlotsOutcome
    this.now = now
    this.taken = slotsKernel.takenOf(outcome, now, step, outcome.allowed)
    this.state = outcome.allowed ? outcome.taken : outcome.kept
    this.before = new Map([...slotsOf(state)].map(([number, end]) => [number, Math.min(end, now + TTL)]))
    this.after = slotsOf(this.state)
  }

  get live(): Slots {
    return new Map([...this.before].filter(([, end]) => end > this.now))
  }

  leaves(slots: Slots, why: string): void {
    assert.deepEqual(
      [...this.after],
      [...slots].sort(([a], [b]) => a - b),
      why,
    )
  }
}

/** Tries an action, checks what it did, and returns what is then. */
function after(program: Program, situation: Situation, action: Action): Situation {
  const { now, holdings } = situation
  const path = [...situation.path, action]
  if (action.does === 'pass') {
    const older = holdings.map((each) => ({ ...each, age: each.age + action.micros }))
    return { ...situation, now: now + action.micros, holdings: older, path }
  }
  if (action.does === 'back') return { ...situation, now: now - action.micros, path }
  if (action.does === 'acquire' || action.does === 'charge') {
    const call = new Call(program, situation, action.does === 'acquire' ? 'consume' : 'charge', action.cost)
    return { ...situation, state: call.state, holdings: acquired(call, action, situation), path }
  }
  if (action.does === 'refund') {
    const call = new Call(program, situation, 'refund', action.cost)
    const latest = [...call.before.keys()].slice(-action.cost)
    call.leaves(without(call.before, latest), 'a refund of no number releases the latest slot')
    const left = holdings.map((each) =>
      numbersOf(each).some((n) => latest.includes(n)) ? { ...each, isReleased: true } : each,
    )
    return { ...situation, state: call.state, holdings: left, path }
  }
  const holding = holdings[action.of] as Holding
  const own = numbersOf(holding)
  const call = new Call(program, situation, action.does === 'release' ? 'refund' : 'charge', holding.count, holding)
  const isFound = own.some((number) => call.before.has(number))
  if (action.does === 'release') call.leaves(without(call.before, own), 'a release frees its own slots, and no others')
  else {
    const renewed = [...call.before].map(([n, end]) => [n, own.includes(n) ? now + TTL : end] as const)
    call.leaves(new Map(renewed), 'a renewal renews its own slots that are left, and no others')
  }
  assert.equal(call.taken.id, isFound ? holding.id : 0, 'a release and a renewal report slots that are lost')
  const changed: Holding =
    action.does === 'release' ? { ...holding, isReleased: true } : isFound ? { ...holding, age: 0 } : holding
  return { ...situation, state: call.state, holdings: holdings.with(action.of, changed), path }
}

function acquired(
  call: Call,
  { does, cost }: { does: string; cost: number },
  { quota, holdings }: Situation,
): readonly Holding[] {
  const { now, taken, live, before } = call
  const free = quota.limit - live.size
  assert.equal(taken.allowed, does === 'charge' || cost <= free, 'slots are acquired if and only if enough are free')
  if (!taken.allowed || free === 0) {
    call.leaves(before, 'a denial leaves the slots')
    return holdings
  }
  const fresh: Holding = { id: taken.id, count: Math.min(cost, free), age: 0, isReleased: false }
  call.leaves(
    new Map([...live, ...numbersOf(fresh).map((n) => [n, now + TTL] as const)]),
    'slots are acquired beside those in use',
  )
  for (const { id, count } of holdings) assert.ok(fresh.id >= id + count, 'no number is given twice')
  return [...holdings, fresh]
}

/** What holds after each action. */
function check(program: Program, situation: Situation): void {
  const { quota, state, now, holdings } = situation
  const slots = slotsOf(state)
  assert.ok(slots.size <= quota.limit, 'there are never more slots than the limit')
  for (const holding of holdings) {
    const isStored = numbersOf(holding).map((number) => slots.has(number))
    if (!holding.isReleased && holding.age < TTL) assert.ok(isStored.every(Boolean), 'a slot renewed in time is kept')
  }
  // Every process is killed now. The next request is the last to read a clock that was ahead.
  const next = new Call(program, situation, 'consume', 1)
  const later = new Call(program, { ...situation, state: next.state, now: now + TTL }, 'consume', quota.limit)
  assert.ok(later.taken.allowed, 'all slots are free again after their time to live')
  let released = situation
  for (const of of holdings.keys()) released = after(program, released, { does: 'release', of })
  assert.ok(
    new Call(program, released, 'consume', quota.limit).taken.allowed,
    'all slots are free after they are released',
  )
}

/** Situations that differ only by when they are, are one. */
function nameOf({ state, now, holdings }: Situation): string {
  const slots = state && [state.last - now, ...state.slots.map((each) => each - now)]
  // A slot is old after its time to live, and older changes nothing.
  return JSON.stringify([
    slots,
    holdings.map((each) => [each.id - now, each.count, Math.min(each.age, TTL), each.isReleased]),
  ])
}

const actionsOf = ({ holdings }: Situation): readonly Action[] => [
  ...ALWAYS,
  ...holdings.flatMap((_, of): Action[] => [
    { does: 'release', of },
    { does: 'renew', of },
  ]),
]

/** Tries an action, and returns what is then if it is not known. */
function found(program: Program, situation: Situation, action: Action, known: Set<string>): Situation[] {
  try {
    const next = after(program, situation, action)
    const { size } = known
    if (known.add(nameOf(next)).size === size) return []
    check(program, next)
    return [next]
  } catch (error) {
    if (error instanceof Error) error.message += ` after ${JSON.stringify([...situation.path, action])}`
    throw error
  }
}

/** Tries every history of at most so many actions on so many slots, and returns in how many different situations they end. */
export function explore(program: Program, limit: number, actions: number): number {
  const quota: SlotsQuota = { kernel: 'slots', limit, window: TTL }
  const known = new Set<string>()
  let edge: readonly Situation[] = [{ quota, now: START, state: undefined, holdings: [], path: [] }]
  for (let i = 0; i < actions; i++) {
    edge = edge.flatMap((situation) =>
      actionsOf(situation).flatMap((action) => found(program, situation, action, known)),
    )
  }
  return known.size
}
