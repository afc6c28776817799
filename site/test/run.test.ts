import { micros } from '@spillway/core'
import type { HeaderForm } from '@spillway/core/http'
import { perMinute, rateLimit } from '@spillway/hono'
import { memoryStore } from '@spillway/memory'
import fc from 'fast-check'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { ALGORITHM_IDS, ALGORITHMS, durationText, type Numbers, windowOf } from '../playground/algorithms.ts'
import type { Answer } from '../playground/app.ts'
import { chartOf } from '../playground/chart.ts'
import { HEADER_FORMS } from '../playground/link.ts'
import { run } from '../playground/run.ts'
import { levelAt, summaryOf } from '../playground/summary.ts'
import { type Arrival, MOST, PATTERNS, type Pattern, trafficOf } from '../playground/traffic.ts'

const numbers: Numbers = { limit: 10, every: 10, unit: 's', burst: 0, portions: 2, queue: 5 }
const window = windowOf(numbers)
const patterns = Object.keys(PATTERNS) as Pattern[]
const traffic = (pattern: Pattern) => trafficOf({ pattern, limit: numbers.limit, window, load: 1.5 })
const terms = { apart: true, headers: 'draft-11' } as const

describe('the playground answers as an app does', () => {
  const epoch = Date.UTC(2026, 0, 1) * 1000
  // An app delays the requests of a leaky bucket; the playground reports the delay instead.
  const denying = ALGORITHM_IDS.filter((id) => id !== 'leaky')

  test.each(denying.flatMap((id) => patterns.map((pattern) => [id, pattern] as const)))(
    '%s, %s',
    async (id, pattern) => {
      let now = epoch
      const app = new Hono()
      const store = memoryStore({ clock: () => now })
      app.use(rateLimit({ quota: ALGORITHMS[id].quota(numbers), key: 'header:client', cost: 'header:cost', store }))
      app.get('/', (c) => c.text('hello'))
      for (const { arrival, headers, denial } of run(ALGORITHMS[id].quota(numbers), traffic(pattern), terms).answers) {
        now = epoch + arrival.at
        const response = await app.request('/', { headers: { client: arrival.client, cost: String(arrival.cost) } })
        const reported = ['RateLimit-Policy', 'RateLimit', 'Retry-After'].flatMap((name) => {
          const value = response.headers.get(name)
          return value === null ? [] : [[name, value]]
        })
        expect([response.status, reported]).toEqual([denial?.status ?? 200, headers])
        if (denial) expect(await response.text()).toBe(denial.body)
      }
    },
  )
})

test('a leaky bucket reports each delay: one request a second, in the order they came', () => {
  const { answers } = run(ALGORITHMS.leaky.quota(numbers), traffic('bursts'), terms)
  const departures = answers
    .filter(({ decision }) => decision.allowed)
    .map(({ arrival, decision }) => arrival.at + decision.delayMs * 1000)
  expect(departures.length).toBeGreaterThan(10)
  for (const [i, departure] of departures.slice(1).entries()) {
    expect(departure - (departures[i] as number)).toBeGreaterThanOrEqual(1_000_000)
  }
})

test('clients of a shared bucket are denied during a flood', () => {
  const quota = ALGORITHMS.token.quota(numbers)
  const admittedOf = (apart: boolean): number =>
    run(quota, traffic('attack'), { ...terms, apart }).answers.filter(
      ({ arrival, decision }) => arrival.client === 'you' && decision.allowed,
    ).length
  expect(admittedOf(false)).toBeLessThan(admittedOf(true))
})

test('sends headers in the selected form', () => {
  const namesIn = (headers: HeaderForm): readonly string[] =>
    run(perMinute(10), traffic('steady'), { ...terms, headers }).answers[0]?.headers.map(([name]) => name) ?? []
  expect(namesIn('draft-11')).toEqual(['RateLimit-Policy', 'RateLimit'])
  expect(namesIn('legacy-delta')).toEqual(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'])
  expect(HEADER_FORMS.map(namesIn).every(({ length }) => length > 1)).toBe(true)
})

describe('traffic', () => {
  test.each(patterns)('%s is in order, within its span, the same each time, and never endless', (pattern) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.double({ min: 0.2, max: 4, noNaN: true }),
        fc.constantFrom('1s', '10s', '1h', '30d'),
        (limit, load, every) => {
          const demand = { pattern, limit, window: micros(every, 'window'), load }
          const { arrivals, span, truncated } = trafficOf(demand)
          expect(arrivals.length).toBeLessThanOrEqual(MOST)
          expect(truncated).toBe(span < 3 * demand.window)
          expect(arrivals.every(({ at, cost }, i) => at <= span && at >= (arrivals[i - 1]?.at ?? 0) && cost >= 1)).toBe(
            true,
          )
          expect(trafficOf(demand)).toEqual({ arrivals, span, truncated })
        },
      ),
      { numRuns: 25 },
    )
  })
})

test('the maximum in any window equals a count from each request', () => {
  const units = fc.record({
    at: fc.integer({ min: 0, max: 30_000_000 }),
    cost: fc.integer({ min: 1, max: 4 }),
    client: fc.constantFrom('you' as const, 'flood' as const),
    own: fc.constant(false),
  })
  fc.assert(
    fc.property(fc.array(units, { maxLength: 40 }), fc.constantFrom(...ALGORITHM_IDS), (arrivals: Arrival[], id) => {
      const sorted = arrivals.toSorted((a, b) => a.at - b.at)
      const result = run(ALGORITHMS[id].quota(numbers), { arrivals: sorted, span: 30_000_000 }, terms)
      const gone = result.answers
        .filter(({ decision }) => decision.allowed)
        .map(({ arrival, decision }) => ({ ...arrival, at: arrival.at + decision.delayMs * 1000 }))
      const most = gone.map(({ at, client }) =>
        gone
          .filter((other) => other.client === client && other.at >= at && other.at < at + window)
          .reduce((sum, { cost }) => sum + cost, 0),
      )
      expect(summaryOf(result, window)).toMatchObject({
        admitted: gone.length,
        denied: arrivals.length - gone.length,
        most: Math.max(0, ...most),
      })
    }),
  )
})

test('the level is full at first, and falls by the cost of an allowed request', () => {
  const result = run(ALGORITHMS.token.quota(numbers), traffic('weighted'), terms)
  const { arrival } = result.answers[0] as Answer
  expect(levelAt(result.lines[0], arrival.at - 1)).toBe(10)
  expect(levelAt(result.lines[0], arrival.at)).toBe(10 - arrival.cost)
  const chart = chartOf(result, traffic('weighted').span, window)
  expect(chart.rows.map(({ client }) => client)).toEqual(['you'])
  expect(chart.area).toMatch(/^M0,2/)
})

test('a limit of 2,000 is run whole: the units that a full bucket and its refill have are allowed', () => {
  const demand = { pattern: 'steady', limit: 2_000, window, load: 1.5 } as const
  const { arrivals, span, truncated } = trafficOf(demand)
  expect([arrivals.length, truncated]).toEqual([9_000, false])
  const { answers } = run(ALGORITHMS.token.quota({ ...numbers, limit: 2_000 }), { arrivals, span }, terms)
  const allowed = answers.filter(({ decision }) => decision.allowed).length
  // A burst of 2,000, and 2,000 more in each of three windows; the last one has not ended.
  expect(allowed).toBeGreaterThan(7_990)
  expect(allowed).toBeLessThanOrEqual(8_000)
})

test('durations use the largest unit that divides them', () => {
  expect([500, 1_000, 90_000, 3_600_000, 86_400_000].map(durationText)).toEqual(['500ms', '1s', '90s', '1h', '1d'])
})
