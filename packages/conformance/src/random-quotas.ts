import {
  type BucketQuota,
  calendarWindow,
  type Duration,
  fixedWindow,
  leakyBucket,
  type Micros,
  penalty,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
  type ZonedPeriods,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { Periods } from '@spillway/core/internal'
import fc from 'fast-check'
import { START } from './clock.ts'
import { made } from './made.ts'

/** The algorithms of quotas. */
export type Algorithm =
  | 'token bucket'
  | 'token bucket that starts low'
  | 'interval refill'
  | 'fixed window'
  | 'fixed window of many units'
  | 'fixed window from the first request'
  | 'calendar window'
  | 'leaky bucket'
  | 'sliding window'
  | 'sliding log'
  | 'warm-up'
  | 'penalty'
  | 'in flight'

const limits = /* @__PURE__ */ made(() => fc.integer({ min: 1, max: 12 }))
const windows = /* @__PURE__ */ made(() => fc.constantFrom(250, 1_000, 7_000, 3_600_000))

const startingLow = (keepFull: Duration): fc.Arbitrary<BucketQuota> =>
  fc
    .record({
      limit: limits,
      burst: fc.integer({ min: 5, max: 12 }),
      initial: fc.integer({ min: 0, max: 4 }),
      refill: fc.constantFrom('continuous' as const, 'continuous' as const, '3s' as const),
    })
    .map(({ limit, ...options }) => tokenBucket({ limit, per: '3s', keepFull, ...options }))

/** Days that begin at a time. Those of a time zone begin too seldom for a history of less than a minute. */
class DaysFrom extends Periods implements ZonedPeriods {
  readonly unit = 'day'
  readonly timeZone = 'UTC'
  readonly firstDay = 1
  /** Public, so that steps of two calendars differ as text. */
  readonly start: Micros

  constructor(start: Micros) {
    super()
    this.start = start
  }

  startsAround(now: Micros): readonly Micros[] {
    const days = Math.floor((now - this.start) / DAY)
    return [-1, 0, 1, 2].map((i) => this.start + (days + i) * DAY)
  }
}

const DAY: Micros = 86_400e6

/** Quotas of every algorithm, from strict pacing to a million a second, small enough for a history to drain. */
export const quotasOf: Readonly<Record<Algorithm, fc.Arbitrary<Quota>>> = /* @__PURE__ */ made(() => ({
  'token bucket': fc
    .record({
      limit: fc.constantFrom(1, 2, 3, 7, 10, 100, 9_999, 30_000, 1_000_000, 1_000_000_000),
      per: fc.constantFrom('1s' as const, '10s' as const, '1m' as const, '7d' as const),
      burst: limits,
      overdraft: fc.constantFrom(0, 0, 5),
    })
    .map((options) => tokenBucket(options)),
  'token bucket that starts low': startingLow('1h'),
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
  'fixed window of many units': fc
    .record({
      limit: fc.constantFrom(7_000_001, 1_000_000_000_000, 2 ** 50),
      window: fc.constantFrom(1, 250, 1_000, 7_000),
      offset: fc.constantFrom(0, 0.001, 77, 5_000),
    })
    .map((options) => fixedWindow(options)),
  'fixed window from the first request': fc
    .record({ limit: limits, window: windows })
    .map((options) => fixedWindow({ ...options, align: 'first' })),
  'calendar window': fc
    .record({ limit: limits, start: fc.constantFrom(1, 500_000, 7_000_000, 20_000_000) })
    .map(({ limit, start }) =>
      Object.freeze({ ...calendarWindow({ limit, unit: 'day' }), calendar: new DaysFrom(START + start) }),
    ),
  'leaky bucket': fc
    .record({ limit: limits, per: windows, queue: fc.integer({ min: 0, max: 9 }) })
    .map((options) => leakyBucket(options)),
  'sliding window': fc.record({ limit: limits, window: windows }).map((options) => slidingWindow(options)),
  'sliding log': fc.record({ limit: limits, window: windows }).map((options) => slidingLog(options)),
  'warm-up': fc
    .record({
      limit: fc.constantFrom(1, 2, 3, 7, 10, 100, 9_999, 30_000, 1_000_000),
      per: fc.constantFrom('1s' as const, '10s' as const, '1m' as const),
      warmUpPeriod: fc.constantFrom(0.007, 1_000, 7_000, '1m' as const, '2h' as const),
      burst: limits,
    })
    .map((options) => warmingUp(options)),
  penalty: fc
    .record({
      after: limits,
      within: windows,
      block: fc.constantFrom(1, 500, 7_000),
      grow: fc.constantFrom(1, 2, 3),
      max: fc.constantFrom('7s' as const, '20s' as const),
      forgive: fc.constantFrom(1, 3_000, 30_000),
    })
    .map(({ max, forgive, ...options }) => penalty(options.grow === 1 ? options : { ...options, max, forgive })),
  'in flight': fc.record({ limit: limits, ttl: windows }).map(({ limit, ttl }) => inFlight(limit, { ttl })),
}))

/** A penalty whose denials write: they start the block again. */
const extending: fc.Arbitrary<Quota> = /* @__PURE__ */ made(() =>
  fc
    .record({ after: limits, block: fc.constantFrom(1, 500, 7_000), grow: fc.constantFrom(2, 3) })
    .map((options) => penalty({ ...options, within: '7s', max: '20s', forgive: '3s', extend: true })),
)

/** Quotas without units, which deny all. */
export const noUnits: fc.Arbitrary<Quota> = /* @__PURE__ */ made(() =>
  fc.constantFrom<Quota[]>(
    tokenBucket({ limit: 0, per: '1s' }),
    slidingWindow({ limit: 0, window: '1s' }),
    slidingLog({ limit: 0, window: '1s' }),
  ),
)

/** Quotas of any algorithm. */
export const quotas: fc.Arbitrary<Quota> = /* @__PURE__ */ made(() =>
  fc.oneof(...Object.values(quotasOf), startingLow(1), extending),
)
