import {
  fixedWindow,
  leakyBucket,
  type Micros,
  type Quota,
  type StateKey,
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

/** Something taken around the start of the history, or right then, or a turn later, which a refund may give back. */
const takenOf = (turns: fc.Arbitrary<Micros>): fc.Arbitrary<Taken> =>
  fc.oneof(fc.integer({ min: -5_000_000, max: 60_000_000 }), fc.constant(0), turns).map((after) => {
    const moment = START + after
    return { allowed: true, now: moment, base: moment, tat: moment }
  })

/** Random histories over a few states, to each of which any of these quotas may be applied. */
export function historiesOf(quotas: readonly Quota[]): fc.Arbitrary<readonly Call[]> {
  const turns = turnsOf(quotas)
  const take: fc.Arbitrary<Take> = fc
    .record({
      name: names,
      quota: fc.constantFrom(...quotas),
      verb: verbs,
      cost: fc.integer({ min: 1, max: 14 }),
      patience: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 100_000_000 })),
      of: fc.option(takenOf(turns), { nil: undefined }),
    })
    .map(({ name, quota, verb, cost, patience, of }) => ({
      ...name,
      step: stepFor(quota, verb, cost, verb === 'refund' ? (of ? { of } : {}) : verb === 'consume' ? { patience } : {}),
    }))
  const ops = fc.uniqueArray(take, { minLength: 1, maxLength: 3, selector: ({ policy, key }) => `${policy} ${key}` })
  return fc.array(fc.record({ after: spansOf(turns), ops }), { minLength: 1, maxLength: 25 })
}

/** Random histories over a few states and two quotas. */
export const histories: fc.Arbitrary<readonly Call[]> = fc.tuple(quotas, quotas).chain(historiesOf)

/** The moments of a history's calls, which begin at {@link START}. */
export function momentsOf(history: readonly Call[]): readonly Micros[] {
  let now = START
  return history.map(({ after }) => {
    now += after
    return now
  })
}
