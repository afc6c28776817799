import type { Micros, Quota, StateKey, Step, Take, Taken } from '@spillway/core'
import { BLOCK_LIST, maxCharge, needsUnits, stepFor, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { made } from './made.ts'
import { modelStore } from './model.ts'
import { noUnits, quotas } from './random-quotas.ts'

/** One call of a history: some time after the last one, or before it if the clock steps back. */
export interface Call {
  readonly after: Micros
  readonly ops: readonly Take[]
}

const names: fc.Arbitrary<StateKey> = /* @__PURE__ */ made(() =>
  fc.constantFrom({ policy: 'p', key: 'a' }, { policy: 'p', key: 'b' }, { policy: 'q', key: 'a' }),
)

const verbs: fc.Arbitrary<Verb> = /* @__PURE__ */ made(() =>
  fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'charge'),
)

// A history is shorter than a minute: stores may sweep a state one minute after it has expired.
const LONGEST_SPAN = 2_300_000

/** Spans after which a window of these quotas ends, or a unit refills: random values rarely hit the exact microsecond. */
function turnsOf(quotas: readonly Quota[]): fc.Arbitrary<Micros> {
  const turns = quotas.flatMap((quota) => {
    if (quota.kernel === 'warm-up') return [quota.window, quota.half, 2 * quota.half]
    if (quota.kernel === 'penalty') return [quota.window, quota.block, quota.max, quota.forgive]
    if (quota.kernel === 'sliding-window' && quota.calendar !== null) {
      return [(quota.calendar.startsAround(START)[2] as Micros) - START]
    }
    if (quota.kernel === 'sliding-window' && quota.offset !== null) {
      return [quota.window - ((START + quota.offset) % quota.window), quota.window]
    }
    if (quota.kernel !== 'bucket') return [quota.window, 2 * quota.window]
    return [Math.ceil(quota.ticksPerUnit / quota.scale), quota.window, quota.limit, quota.schedule?.interval ?? 0]
  })
  return fc.constantFrom(...turns.filter((span) => span <= LONGEST_SPAN).flatMap((span) => [span, span - 1]), 1)
}

const spansOf = (turns: fc.Arbitrary<Micros>): fc.Arbitrary<Micros> =>
  fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 3_000 }),
    fc.integer({ min: 0, max: LONGEST_SPAN }),
    fc.integer({ min: 0, max: LONGEST_SPAN }),
    fc.integer({ min: -30_000_000, max: -1 }),
    { weight: 3, arbitrary: turns },
  )

/** The take that a refund is of: none, one of the last few of this key and kernel, or one that was never made. */
const refunded: fc.Arbitrary<(takes: readonly Taken[]) => Taken | undefined> = /* @__PURE__ */ made(() =>
  fc.oneof(
    fc.constant(() => undefined),
    { weight: 3, arbitrary: fc.integer({ min: -4, max: -1 }).map((i) => (takes: readonly Taken[]) => takes.at(i)) },
    fc.integer({ min: -5_000_000, max: 60_000_000 }).map((after) => () => madeUp(START + after)),
  ),
)

const madeUp = (at: Micros): Taken => {
  const bucket = { base: at, tat: at + 1_000_000, gross: { tick: at + 2_000_000, early: 0 } }
  const before = { aheadBefore: 0, earlyBefore: 0, coldBefore: 1_000_000 }
  const warmUp = { ...before, ahead: 1_000_000, early: 0, cold: 0 }
  const penalty = { first: at, count: 1, until: 0, level: 0, last: 0 }
  return {
    allowed: true,
    now: at,
    ...bucket,
    ...warmUp,
    ...penalty,
    start: at,
    current: 1,
    previous: 0,
    used: 1,
    id: at,
  }
}

interface Op {
  readonly name: StateKey
  readonly quota: Quota
  readonly verb: Verb
  readonly cost: number
  readonly maxWaitMicros: Micros
  readonly of: (takes: readonly Taken[]) => Taken | undefined
}

/** Costs far above most quotas: no store may count them otherwise, or fail. */
const LARGE = [2 ** 31, 2 ** 40, 2 ** 50, Number.MAX_SAFE_INTEGER]

function stepOf({ quota, verb, cost: units, maxWaitMicros, of }: Op, takes: readonly Taken[]): Step {
  const most = needsUnits(verb) ? Number.MAX_SAFE_INTEGER : maxCharge(quota)
  const cost = quota === BLOCK_LIST ? quota.limit : Math.min(units, most)
  if (verb === 'consume') return stepFor(quota, verb, cost, { maxWaitMicros })
  // A block set by hand, and its end.
  if (maxWaitMicros > 0 && (verb === 'charge' || (verb === 'refund' && quota === BLOCK_LIST)))
    return stepFor(quota, verb, cost, { blockMicros: maxWaitMicros })
  // A charge of slots that are held renews them.
  const refers = verb === 'refund' || (verb === 'charge' && quota.kernel === 'slots')
  const taken = refers ? of(takes) : undefined
  return stepFor(quota, verb, cost, taken === undefined ? {} : { original: taken })
}

/** A block list has states of its own, which no other algorithm has written. */
const stateOf = ({ name, quota }: Op): StateKey =>
  quota === BLOCK_LIST ? { ...name, policy: `${name.policy} (blocked)` } : name

/** Random histories of a few states. Each call uses any of these quotas. */
export function historiesOf(quotas: readonly Quota[]): fc.Arbitrary<readonly Call[]> {
  const op = fc.record({
    name: names,
    quota: fc.constantFrom(...quotas),
    verb: verbs,
    // Sometimes the cost is the whole capacity, so that the state becomes empty or full.
    cost: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 14 }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          1,
          ...quotas.map(({ limit }) => Math.max(limit, 1)),
          ...quotas.map(({ limit }) => limit + 1),
        ),
      },
      fc.constantFrom(...LARGE),
    ),
    maxWaitMicros: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 100_000_000 })),
    of: refunded,
  })
  const ops = fc.uniqueArray(op, {
    minLength: 1,
    maxLength: 3,
    selector: ({ name: { policy, key } }) => `${policy} ${key}`,
  })
  const calls = fc.array(fc.record({ after: spansOf(turnsOf(quotas)), ops }), { minLength: 1, maxLength: 25 })
  return calls.map(withSteps)
}

/** Adds the steps to calls. The model runs them, so that refunds can refer to earlier takes. */
function withSteps(drawn: readonly { readonly after: Micros; readonly ops: readonly Op[] }[]): readonly Call[] {
  const model = modelStore(() => START)
  const moments = momentsOf(drawn)
  const takes = new Map<string, Taken[]>()
  return drawn.map(({ after, ops: asked }, i) => {
    const takesOf = ({ name, quota }: Op): Taken[] => {
      const id = [name.policy, name.key, quota.kernel].join()
      if (!takes.has(id)) takes.set(id, [])
      return takes.get(id) as Taken[]
    }
    const ops = asked.map((op) => ({ ...stateOf(op), step: stepOf(op, takesOf(op)) }))
    const answers = model.takeSync(ops, moments[i])
    if (answers.every(({ allowed }) => allowed)) {
      for (const [i, op] of asked.entries()) if (op.verb === 'consume') takesOf(op).push(answers[i] as Taken)
    }
    return { after, ops }
  })
}

/** Random histories over a few states and two quotas. */
export const histories: fc.Arbitrary<readonly Call[]> = /* @__PURE__ */ made(() =>
  fc.tuple(quotas, fc.oneof({ weight: 6, arbitrary: quotas }, fc.constant(BLOCK_LIST), noUnits)).chain(historiesOf),
)

/** The times of a history's calls, from {@link START} on. */
export function momentsOf(history: readonly Pick<Call, 'after'>[]): readonly Micros[] {
  let now = START
  return history.map(({ after }) => {
    now += after
    return now
  })
}
