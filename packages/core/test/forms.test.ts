import { quotas } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formsOf, type HeaderForm, headerWriter } from '../src/features/header-forms/forms.ts'
import { advertised, headerItem } from '../src/http/headers/header-item.ts'
import {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perMonth,
  perSecond,
  type Quota,
  QuotaError,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { decisionOf } from './decisions.ts'
import { item, nowMs } from './header-forms.ts'

// Two policies, of which the second has less left: 3 of 10 in some 7.5 seconds.
const burst = headerItem({ name: 'burst', quota: tokenBucket({ limit: 4, per: '3s', burst: 10 }) })
const REPORTED = [
  { item, pk: '', decision: decisionOf({ remaining: 50, resetAfterMs: 29_401, replenishAfterMs: 1 }) },
  {
    item: burst,
    pk: '',
    decision: decisionOf({ limit: 10, remaining: 3, resetAfterMs: 5_250, replenishAfterMs: 0 }),
  },
]

const ITEMS = [
  ['RateLimit-Policy', '"per minute";q=100;w=60, "burst";q=10;w=8'],
  ['RateLimit', '"per minute";r=50;t=1, "burst";r=3'],
]
const POLICY = ['RateLimit-Policy', '100;w=60, 10;w=8']
const SEVEN = [POLICY, ['RateLimit', 'limit=10, remaining=3, reset=6']]
const THREE = [
  ['RateLimit-Limit', '10'],
  ['RateLimit-Remaining', '3'],
  ['RateLimit-Reset', '6'],
]
const legacy = (reset: string) => [
  ['X-RateLimit-Limit', '10'],
  ['X-RateLimit-Remaining', '3'],
  ['X-RateLimit-Reset', reset],
]
const DELTA = legacy('6')
const EPOCH = legacy('1767225606')

test.each<[HeaderForm[], string[][]]>([
  [[], []],
  [['draft-6'], [...THREE, POLICY]],
  [['draft-7'], SEVEN],
  [['draft-8'], ITEMS],
  [['draft-9'], ITEMS],
  [['draft-10'], ITEMS],
  [['draft-11'], ITEMS],
  [['legacy-delta'], DELTA],
  [['legacy-epoch'], EPOCH],
  // RateLimit-Policy is written as the newer of two drafts has it.
  [
    ['draft-6', 'draft-7'],
    [...SEVEN, ...THREE],
  ],
  [
    ['draft-6', 'draft-11'],
    [...ITEMS, ...THREE],
  ],
  [
    ['draft-6', 'legacy-delta'],
    [...THREE, POLICY, ...DELTA],
  ],
  [
    ['draft-6', 'legacy-epoch'],
    [...THREE, POLICY, ...EPOCH],
  ],
  [
    ['draft-7', 'legacy-delta'],
    [...SEVEN, ...DELTA],
  ],
  [
    ['draft-7', 'legacy-epoch'],
    [...SEVEN, ...EPOCH],
  ],
  [
    ['draft-11', 'legacy-delta'],
    [...ITEMS, ...DELTA],
  ],
  [
    ['draft-11', 'legacy-epoch'],
    [...ITEMS, ...EPOCH],
  ],
  [
    ['draft-6', 'draft-7', 'legacy-delta'],
    [...SEVEN, ...THREE, ...DELTA],
  ],
  [
    ['draft-6', 'draft-7', 'legacy-epoch'],
    [...SEVEN, ...THREE, ...EPOCH],
  ],
  [
    ['draft-6', 'draft-11', 'legacy-delta'],
    [...ITEMS, ...THREE, ...DELTA],
  ],
  [
    ['draft-6', 'draft-11', 'legacy-epoch'],
    [...ITEMS, ...THREE, ...EPOCH],
  ],
])('%j write these headers, whatever their order', (forms, headers) => {
  expect(headerWriter(formsOf(forms))(REPORTED, nowMs)).toEqual(headers)
  expect(headerWriter(formsOf(forms.toReversed()))(REPORTED, nowMs)).toEqual(headers)
})

describe('the option', () => {
  test.each<[Parameters<typeof formsOf>[0], HeaderForm[]]>([
    [undefined, ['draft-11']],
    [false, []],
    ['draft-7', ['draft-7']],
    [
      ['draft-8', 'draft-11', 'draft-6', 'draft-10'],
      ['draft-8', 'draft-6'],
    ],
    [['legacy-epoch', 'legacy-epoch'], ['legacy-epoch']],
  ])('%j means %j', (option, forms) => expect(formsOf(option)).toEqual(forms))

  test.each<[unknown, string]>([
    ['legacy', "write 'legacy-delta' (seconds until the reset) or 'legacy-epoch' (its date)"],
    [['draft-11', 'legacy'], "write 'legacy-delta'"],
    ['draft-5', "must be one or a list of 'draft-6', 'draft-7'"],
    [true, 'or false for none; got true'],
    [null, 'got null'],
    [{}, 'got an object'],
    [[['draft-6']], 'got an array'],
    [[undefined], 'got undefined'],
    [['draft-7', 'draft-9'], "cannot be both 'draft-7' and 'draft-9', which write RateLimit differently"],
    [['legacy-delta', 'legacy-epoch'], 'which write X-RateLimit-Reset differently'],
  ])('%j is rejected', (option, message) => {
    expect(() => formsOf(option as HeaderForm)).toThrow(QuotaError)
    expect(() => formsOf(option as HeaderForm)).toThrow(message)
  })
})

test('drafts 6 and 7 report the first of several policies with one limit', () => {
  const hourly = headerItem({ name: 'hourly', quota: slidingWindow({ limit: 100, window: '1h' }) })
  const reported = [item, hourly, burst].map((each) => ({ item: each, pk: '', decision: decisionOf() }))
  expect(headerWriter(['draft-6'])(reported, nowMs).at(-1)).toEqual(POLICY)
})

test.each<[Quota, string]>([
  [perMinute(100), 'q=100;w=60'],
  [perSecond(10, { burst: 20 }), 'q=20;w=2'],
  // A hundred times too little: q=1;w=1.
  [perSecond(100, { burst: 1 }), 'q=100;w=1'],
  [perMinute(100, { burst: 1 }), 'q=5;w=3'],
  [perMinute(60, { burst: 10 }), 'q=10;w=10'],
  [perMinute(7, { burst: 1 }), 'q=1;w=9'],
  [perHour(7, { burst: 1 }), 'q=1;w=515'],
  [perSecond(10, { burst: 15 }), 'q=20;w=2'],
  // A third of a second is no whole number of microseconds.
  [perSecond(3), 'q=3;w=1'],
  [perMinute(7), 'q=7;w=60'],
  [perSecond(9_000), 'q=9000;w=1'],
  [perDay(10_000), 'q=10000;w=86400'],
  [fixedWindow({ limit: 100, window: 1_500 }), 'q=200;w=3'],
  [slidingWindow({ limit: 5, window: 500 }), 'q=10;w=1'],
  [slidingLog({ limit: 5, window: '1m' }), 'q=5;w=60'],
  [leakyBucket({ limit: 10, per: '1s', queue: 5 }), 'q=10;w=1'],
  [tokenBucket({ limit: 1, per: '30d' }), 'q=1;w=2592000'],
])('%j is advertised as %s', (quota, expected) => {
  expect(headerItem({ name: 'a', quota }).policy).toEqual(['RateLimit-Policy', `"a";${expected}`])
})

// Reproduces a bug: perHour(50_000_000) sent w=3550, fixedWindow of a million an hour w=3599, perMinute(1e6) w=59.
test('a quota built by a period is advertised with its limit and the seconds of that period', () => {
  const limits = fc.oneof(
    fc.integer({ min: 1, max: 1e4 }),
    fc.integer({ min: 1e6, max: 3e9 }),
    fc.integer({ min: 1, max: 999_999_999_999_999 }),
  )
  fc.assert(
    fc.property(limits, fc.integer({ min: 1, max: 2_678_400 }), (limit, seconds) => {
      const window = seconds * 1000
      const perKey = fixedWindow({ limit, window, align: 'first' })
      const inTime = [perKey, tokenBucket({ limit, per: window }), ...windowsOf(limit, window)]
      for (const quota of inTime) expect(advertised(quota)).toEqual({ limit, window: seconds })
      const rates = [perSecond, perMinute, perHour, perDay].map((rate) => advertised(rate(limit)).window)
      expect(rates).toEqual([1, 60, 3_600, 86_400])
      expect(advertised(perMonth(limit)).window).toBe(2_678_400)
    }),
  )
})

/** Windows of the clock, and sliding ones: not for all limits. */
const windowsOf = (limit: number, window: number): readonly Quota[] => [
  ...(limit <= window * 1000 ? [fixedWindow({ limit, window })] : []),
  ...(limit * window <= 2 ** 50 ? [slidingWindow({ limit, window })] : []),
  ...(limit <= 10_000 ? [slidingLog({ limit, window })] : []),
]

test('what is advertised is the rate, as far as whole numbers go, and no less than what fits at once', () => {
  fc.assert(
    fc.property(quotas, (quota) => {
      const { limit, window } = advertised(quota)
      const exact = quota.kernel === 'warm-up' || (quota.kernel === 'bucket' && quota.schedule === null)
      const rate = exact ? quota.scale / quota.ticksPerUnit : quota.limit / quota.window
      // The largest integer of a structured field: a rate above it cannot be advertised.
      if (limit === 999_999_999_999_999) return
      expect(limit).toBeGreaterThanOrEqual(quota.limit)
      expect(limit / (window * 1e6) / rate).toBeLessThanOrEqual(1.011)
      expect(limit / (window * 1e6) / rate).toBeGreaterThan(0.89)
    }),
  )
})

test('no header is sent if no policy counted', () =>
  expect(headerWriter(['draft-6', 'draft-11', 'legacy-epoch'])([], nowMs)).toEqual([]))

// Reproduces a bug: 200 policies with long names overflowed what clients accept, so that every response failed.
test('fields have at most 8,000 characters: of the policies that deny, and have the fewest units remaining', () => {
  const results = Array.from({ length: 200 }, (_, i) => ({
    item: headerItem({ name: `${'long '.repeat(18)}${i}`, quota: perDay(1e15 + i) }),
    pk: '',
    decision: decisionOf({ allowed: i !== 150, remaining: 1e15 - (i === 120 ? 1 : 0), retryAfterMs: 1e11 }),
  }))
  const lists = headerWriter(['draft-11'])(results, nowMs).map(([, value]) => value)
  const listed = lists.map((list) => list.split(', ').map((each) => /(\d+)";/.exec(each)?.[1]))
  const most = [150, 120, ...Array(31).keys()].map(String)
  expect(listed).toEqual([most, most])
  expect(lists.join('').length).toBeLessThanOrEqual(8_000)
  expect(lists.join('').length).toBeGreaterThan(7_000)
})

test('a policy with a long partition is listed by itself', () => {
  const pk = `;pk=:${'A'.repeat(8_000)}:`
  const results = [30, 20].map((remaining) => ({ item, pk, decision: decisionOf({ remaining }) }))
  const lists = headerWriter(['draft-11'])(results, nowMs).map(([, value]) => value.replace(pk, ''))
  expect(lists).toEqual(['"per minute";q=100;w=60', '"per minute";r=20;t=1'])
})
