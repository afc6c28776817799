import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { QuotaError } from '../src/common/errors.ts'
import { micros } from '../src/common/time.ts'
import {
  fixedWindow,
  perDay,
  perHour,
  perMinute,
  perMonth,
  perSecond,
  rateLimiter,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'

describe('durations', () => {
  test.each([
    [1, 1_000],
    [0.001, 1],
    ['250ms', 250_000],
    ['10s', 10_000_000],
    ['1.5m', 90_000_000],
    ['1h', 3_600_000_000],
    ['7d', 604_800_000_000],
  ] as const)('%s is %d µs', (duration, expected) => expect(micros(duration, 'per')).toBe(expected))

  test.each([
    0,
    -1,
    Number.NaN,
    Infinity,
    0.0001,
    '10',
    '10 s',
    's',
    '-1s',
    '1e3s',
    '',
    '1w',
    null,
    undefined,
    {},
    4e12,
  ] as never[])('%s is none', (duration) => expect(() => micros(duration, 'per')).toThrow(QuotaError))
})

describe('quotas', () => {
  test('say how much passes at once, and how long an empty bucket takes to fill', () => {
    const numbers = [
      perSecond(10),
      perMinute(100),
      perHour(1_000, { burst: 10 }),
      perDay(1),
      tokenBucket({ limit: 10, per: '1s', burst: 20 }),
      tokenBucket({ limit: 10, per: '1m', refill: '12s', burst: 5 }),
      fixedWindow({ limit: 10, window: '1d' }),
    ].map(({ limit, window }) => [limit, window / 1e6])
    expect(numbers).toEqual([
      [10, 1],
      [100, 60],
      [10, 36],
      [1, 86_400],
      [20, 2],
      [5, 36],
      [10, 86_400],
    ])
  })

  test.each([
    ['a limit below 0', () => perMinute(-1), 'perMinute limit must be a whole number, 0 or more; got -1.'],
    ['a fraction', () => perMinute(0.5), "For this rate, write tokenBucket({ limit: 1, per: '2m' })."],
    ['a whole number and a fraction', () => perSecond(2.5), "tokenBucket({ limit: 5, per: '2s', burst: 3 })."],
    ['a fraction per milliseconds', () => tokenBucket({ limit: 0.1, per: 500 }), '({ limit: 1, per: 5000 }).'],
    ['a fraction without a short decimal', () => perSecond(Math.PI), 'got 3.141592653589793. Use 3.'],
    ['text', () => perMinute('100' as never), 'got "100"'],
    ['NaN', () => perMinute(Number.NaN), 'got NaN'],
    ['an infinite limit', () => perMinute(Infinity), 'got Infinity'],
    ['a burst of 0', () => perMinute(10, { burst: 0 }), 'perMinute burst'],
    ['a number for options', () => perMinute(10, 20 as never), 'perMinute takes an object of options; got 20.'],
    ['a misspelt option', () => perMinute(10, { brust: 20 } as never), 'no option "brust". Did you mean "burst"?'],
    ['an unknown option', () => perMinute(10, { colour: 1 } as never), 'It knows burst.'],
    ['no options', () => tokenBucket(undefined as never), 'tokenBucket takes an object of options; got undefined.'],
    ['no period', () => tokenBucket({ limit: 1 } as never), 'tokenBucket per must be a positive duration'],
    ['more than is counted', () => perSecond(2 ** 52 + 2), 'Use a limit of 4503599627370496.'],
    [
      'a refill of broken units',
      () => tokenBucket({ limit: 10, per: '1m', refill: '7s' }),
      'no whole number every "7s"',
    ],
    [
      'a start above full',
      () => tokenBucket({ limit: 5, per: '1s', initial: 5 }),
      'less than burst, which is what a new key starts with by default; got 5 of 5. Leave initial out.',
    ],
    ['a start below empty', () => tokenBucket({ limit: 5, per: '1s', initial: -1 }), 'initial must be a whole number'],
    ['a start without a number', () => tokenBucket({ limit: 5, per: '1s', keepFull: '1h' }), 'got undefined'],
    [
      'a start that is known for no time',
      () => tokenBucket({ limit: 5, per: '1s', initial: 1, keepFull: 0 }),
      'tokenBucket keepFull must be a positive duration',
    ],
    ['an unknown alignment', () => fixedWindow({ limit: 1, window: '1s', align: 'last' as never }), 'got "last"'],
    [
      'an offset of windows that are not of the clock',
      () => fixedWindow({ limit: 1, window: '1s', align: 'first', offset: '1ms' }),
      'Leave out one of them',
    ],
    [
      'a window of the first request with too many units',
      () => fixedWindow({ limit: 2 ** 51, window: '1s', align: 'first' }),
      'Use a limit of 1125899906842624.',
    ],
    [
      'a window of the clock with too many units',
      () => fixedWindow({ limit: 2 ** 51, window: '1s', offset: '1ms' }),
      'Use a limit of 1125899906842624.',
    ],
    [
      'shares of too many units',
      () => slidingWindow({ limit: 2 ** 51, window: '1s' }),
      'Use a window of whole seconds, or a smaller limit.',
    ],
    [
      'a refill of more units than microseconds',
      () => tokenBucket({ limit: 1.2e9, per: '1m', refill: '10s' }),
      'Use a limit of 60000000 at most, leave refill out to refill continuously, or write fixedWindow({ limit: 200000000, window: "10s" }).',
    ],
    ['a bucket of centuries', () => perDay(1, { burst: 40_000 }), 'over 95 years'],
  ])('reject %s and say what to write', (_, build, message) => {
    expect(build).toThrow(QuotaError)
    expect(build).toThrow(message)
  })

  // 10^9 bytes a minute. A window of the clock was refused above one unit a microsecond.
  test.each([
    ['as many units as microseconds', 6e7, fixedWindow({ limit: 6e7, window: '1m' })],
    ["align: 'first'", 1e9, fixedWindow({ limit: 1e9, window: '1m', align: 'first' })],
    ['a unit more than microseconds', 6e7 + 1, fixedWindow({ limit: 6e7 + 1, window: '1m' })],
    ['a window of the clock', 1e9, fixedWindow({ limit: 1e9, window: '1m' })],
    ['with an offset', 1e12, fixedWindow({ limit: 1e12, window: '1s', offset: '250ms' })],
    ['the most', 2 ** 50, fixedWindow({ limit: 2 ** 50, window: 0.001 })],
    ['a month', 1e12, perMonth(1e12)],
    ['what the error of refill proposes', 2e8, fixedWindow({ limit: 2e8, window: '10s' })],
    ['no refill', 1e9, tokenBucket({ limit: 1e9, per: '1m' })],
  ])('of very many units are exact: %s', (_, limit, quota) => {
    const limiter = rateLimiter({ quota, store: modelStore(fakeClock()) })
    expect(limiter.consumeSync('ann', limit - 1)).toMatchObject({ allowed: true, remaining: 1 })
    expect(limiter.consumeSync('ann', 2)).toMatchObject({ allowed: false, remaining: 1 })
    expect(limiter.consumeSync('ann')).toMatchObject({ allowed: true, remaining: 0 })
  })

  test.each([1, 7, 999, 9_999, 30_000, 999_983, 1_000_000, 999_999_937])('of %d a second have that rate', (limit) => {
    const { ticksPerUnit: unit, scale, window } = perSecond(limit)
    expect([BigInt(unit) * BigInt(limit), window]).toEqual([BigInt(scale) * 1_000_000n, 1_000_000])
  })

  // The default is 0, which was rejected.
  test('take the default offset of windows', () => {
    const options = { limit: 5, window: '1m' } as const
    expect(fixedWindow({ ...options, offset: 0 })).toEqual(fixedWindow(options))
  })

  test('are frozen', () => {
    expect(Object.isFrozen(perMinute(1))).toBe(true)
    expect(Object.isFrozen(tokenBucket({ limit: 1, per: '1s', refill: '1s' }).schedule)).toBe(true)
    expect(Object.isFrozen(fixedWindow({ limit: 1e9, window: '1m' }))).toBe(true)
  })
})
