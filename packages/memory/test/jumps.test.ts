import { fakeClock } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  penalty,
  perMinute,
  perMonth,
  rateLimiter,
  slidingLog,
  slidingWindow,
  steadyClock,
  tokenBucket,
  warmingUp,
} from '../src/index.ts'

// Hosts whose clock jumps, or has no time at all.

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR

/** Every algorithm, each with 5 units at once. */
const quotas = {
  'token bucket': perMinute(5),
  'token bucket with parts of microseconds': tokenBucket({ limit: 7, per: '1m', burst: 5 }),
  'token bucket that refills at intervals': tokenBucket({ limit: 6, per: '1m', refill: '10s', burst: 5 }),
  'token bucket with initial units': tokenBucket({ limit: 6, per: '1m', initial: 5 }),
  'fixed window': fixedWindow({ limit: 5, window: '1m' }),
  'fixed window from the first request': fixedWindow({ limit: 5, window: '1m', align: 'first' }),
  'sliding window': slidingWindow({ limit: 5, window: '1m' }),
  'sliding log': slidingLog({ limit: 5, window: '1m' }),
  calendar: perMonth(5),
  'warm-up': warmingUp({ limit: 5, per: '1m', warmUpPeriod: '1m' }),
  penalty: penalty({ after: 5, within: '1m', block: '1m' }),
  'leaky bucket': leakyBucket({ limit: 5, per: '1m', queue: 4 }),
}

describe.each(Object.entries(quotas))('%s', (name, quota) => {
  const most = name === 'warm-up' ? 1 : 5

  /** A limiter, and how many of 20 requests it allows. */
  function setUp() {
    const clock = fakeClock()
    const broken: { readonly now?: unknown } = {}
    const now = () => ('now' in broken ? broken.now : clock()) as number
    const limiter = rateLimiter({ quota, store: memoryStore({ clock: now }) })
    const allowed = () => Array.from({ length: 20 }, () => limiter.consumeSync('ann')).filter((each) => each.allowed)
    return { clock, broken: broken as { now?: unknown }, limiter, count: () => allowed().length }
  }

  test.each([-HOUR, -2 * YEAR])(
    'a jump of %d ms back refills nothing, and denies for no longer than a refill',
    (ms) => {
      const { clock, count } = setUp()
      expect(count()).toBe(most)
      clock.advance(ms)
      expect(count()).toBe(0)
      clock.advance(name === 'calendar' ? 32 * 24 * HOUR : HOUR)
      expect(count()).toBeGreaterThanOrEqual(most)
    },
  )

  test('a jump of a year forward refills once, and the jump back refills nothing', () => {
    const { clock, count } = setUp()
    count()
    clock.advance(YEAR)
    expect(count()).toBeGreaterThanOrEqual(most)
    clock.advance(-YEAR)
    expect(count()).toBe(0)
  })

  // Windows allowed every request at NaN, and a quota that warms up never denied again.
  test.each([Number.NaN, Infinity, -Infinity, -1, 1.5, 2 ** 53, undefined, null, '5', 5n, new Date(0)])(
    'a clock that returns %o fails the request, and leaves the states as they are',
    (now) => {
      const { broken, limiter, count } = setUp()
      limiter.consumeSync('ann')
      broken.now = now
      expect(() => limiter.consumeSync('ann')).toThrow('clock must return whole microseconds since 1970')
      expect(() => limiter.consumeSync('bob')).toThrow('got ')
      delete broken.now
      expect(count()).toBe(most - 1)
    },
  )
})

// Date.now may be replaced. The clock returned NaN ever after.
test.each([Number.NaN, Infinity, -Infinity, -1, 1e15, undefined, '5x'])(
  'time stands still while the wall clock returns %o, and goes on afterwards',
  (reading) => {
    let [wall, elapsed]: [unknown, number] = [1e12, 0]
    const clock = steadyClock({ wall: () => wall as number, stopwatch: () => elapsed })
    expect(clock()).toBe(1e15)
    wall = reading
    elapsed += 50
    expect([clock(), clock()]).toEqual([1e15, 1e15])
    wall = 1e12 + 100
    elapsed += 50
    expect(clock()).toBe(1e15 + 100_000)
  },
)

test.each([Number.NaN, undefined])('a wall clock that starts with %o is rejected', (reading) => {
  expect(() => steadyClock({ wall: () => reading as number, stopwatch: () => 0 })).toThrow(
    `wall must return milliseconds since 1970, as Date.now() does; got ${reading}.`,
  )
})
