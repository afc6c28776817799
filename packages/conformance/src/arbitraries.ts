import {
  fixedWindow,
  leakyBucket,
  type Micros,
  type Quota,
  type StateKey,
  type Step,
  slidingLog,
  slidingWindow,
  stepFor,
  type Take,
  type Taken,
  tokenBucket,
  type Verb,
} from '@spillway/core'
import fc from 'fast-check'
import { START } from './clock.ts'

/** The algorithms that a quota can be built for. */
export type Algorithm =
  | 'token bucket'
  | 'interval refill'
  | 'fixed window'
  | 'leaky bucket'
  | 'sliding window'
  | 'sliding log'

const limits = fc.integer({ min: 1, max: 12 })
const windows = fc.constantFrom(250, 1_000, 7_000, 3_600_000)

/** Quotas of every algorithm, from strict pacing to a million a second, small enough for a history to drain. */
export const quotasOf: Readonly<Record<Algorithm, fc.Arbitrary<Quota>>> = {
  'token bucket': fc
    .record({
      limit: fc.constantFrom(1, 2, 3, 7, 10, 100, 1_000_000),
      per: fc.constantFrom('1s' as const, '10s' as const, '1m' as const, '7d' as const),
      burst: limits,
      overdraft: fc.constantFrom(0, 0, 5),
    })
    .map((options) => tokenBucket(options)),
  'interval refill': fc
    .record({
      limit: limits,
      refill: fc.constantFrom('1s' as const, '7s' as const),
      burst: fc.integer({ min: 1, max: 20 }),
    })
    .map(({ limit, refill, burst }) => tokenBucket({ limit, per: refill, refill, burst })),
  'fixed window': fc
    .record({ limit: limits, window: windows, offset: fc.constantFrom(1, 77, 5_000) })
    .map((options) => fixedWindow(options)),
  'leaky bucket': fc
    .record({ limit: limits, per: windows, queue: fc.integer({ min: 0, max: 9 }) })
    .map((options) => leakyBucket(options)),
  'sliding window': fc.record({ limit: limits, window: windows }).map((options) => slidingWindow(options)),
  'sliding log': fc.record({ limit: limits, window: windows }).map((options) => slidingLog(options)),
}

/** Quotas of any algorithm. */
export const quotas: fc.Arbitrary<Quota> = fc.oneof(...Object.values(quotasOf))

/** One call of a history: some time after the last one, or before it if the clock steps back. */
export interface Call {
  readonly after: Micros
  readonly ops: readonly Take[]
}

const names: fc.Arbitrary<StateKey> = fc.constantFrom(
  { policy: 'p', key: 'a' },
  { policy: 'p', key: 'b' },
  { policy: 'q', key: 'a' },
)

const verbs: fc.Arbitrary<Verb> = fc.constantFrom(
  'consume',
  'consume',
  'consume',
  'consume',
  'peek',
  'refund',
  'charge',
)

// A history is over within a minute: stores may forget a state a minute after it has become the same as none.
const LONGEST_SPAN = 2_300_000

/** Spans after which a window of these quotas turns, or a unit is back: to the microsecond, hardly ever met by chance. */
function turnsOf(quotas: readonly Quota[]): fc.Arbitrary<Micros> {
  const turns = quotas.flatMap((quota) => {
    if (quota.kernel !== 'bucket') return [quota.window, 2 * quota.window]
    return [quota.unit, quota.limit * quota.unit, quota.grain?.every ?? 0]
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

/** When the take was that a refund gives back: nobody says, a few calls before, or around the start of the history. */
const givenBack: fc.Arbitrary<(before: readonly Micros[]) => Micros | undefined> = fc.oneof(
  fc.constant(() => undefined),
  fc.integer({ min: -4, max: -1 }).map((call) => (before: readonly Micros[]) => before.at(call)),
  fc.integer({ min: -5_000_000, max: 60_000_000 }).map((after) => () => START + after),
)

interface Op {
  readonly quota: Quota
  readonly verb: Verb
  readonly cost: number
  readonly patience: Micros
  readonly of: (before: readonly Micros[]) => Micros | undefined
}

function stepOf({ quota, verb, cost, patience, of }: Op, before: readonly Micros[]): Step {
  if (verb === 'consume') return stepFor(quota, verb, cost, { patience })
  const moment = verb === 'refund' ? of(before) : undefined
  if (moment === undefined) return stepFor(quota, verb, cost)
  return stepFor(quota, verb, cost, { of: takenAt(moment) })
}

/** What a store saw of a take, as far as a refund of it needs to know. */
export const takenAt = (moment: Micros): Taken => ({ allowed: true, now: moment, base: moment, tat: moment })

/** Random histories over a few states, to each of which any of these quotas may be applied. */
export function historiesOf(quotas: readonly Quota[]): fc.Arbitrary<readonly Call[]> {
  const op = fc.record({
    name: names,
    quota: fc.constantFrom(...quotas),
    verb: verbs,
    // Now and then as much as there can be, so that nothing is left and nothing is missing.
    cost: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 14 }) },
      fc.constantFrom(...quotas.map(({ limit }) => limit)),
    ),
    patience: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 100_000_000 })),
    of: givenBack,
  })
  const ops = fc.uniqueArray(op, {
    minLength: 1,
    maxLength: 3,
    selector: ({ name: { policy, key } }) => `${policy} ${key}`,
  })
  const calls = fc.array(fc.record({ after: spansOf(turnsOf(quotas)), ops }), { minLength: 1, maxLength: 25 })
  return calls.map((drawn) => {
    const moments = momentsOf(drawn)
    return drawn.map(({ after, ops }, i) => ({
      after,
      ops: ops.map((op) => ({ ...op.name, step: stepOf(op, moments.slice(0, i)) })),
    }))
  })
}

/** Random histories over a few states and two quotas. */
export const histories: fc.Arbitrary<readonly Call[]> = fc.tuple(quotas, quotas).chain(historiesOf)

/** The moments of a history's calls, which begin at {@link START}. */
export function momentsOf(history: readonly Pick<Call, 'after'>[]): readonly Micros[] {
  let now = START
  return history.map(({ after }) => {
    now += after
    return now
  })
}
