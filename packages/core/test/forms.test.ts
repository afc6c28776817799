import { quotas } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { formsOf, type HeaderForm, headerWriter } from '../src/http/headers/forms.ts'
import { advertised, headerItem } from '../src/http/headers/header-item.ts'
import { type Header, joinHeaders } from '../src/http/headers/headers.ts'
import { partitionReader } from '../src/http/headers/partition.ts'
import {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perMinute,
  perSecond,
  type Quota,
  QuotaError,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { decisionOf } from './decisions.ts'

const NOW = Date.UTC(2026, 0, 1)
const nowMs = (): number => NOW

// Two policies, of which the second has less left: 3 of 10 in some 7.5 seconds.
const item = headerItem({ name: 'per minute', quota: perMinute(100) })
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

describe('one policy', () => {
  const write = (form: HeaderForm, parts: Parameters<typeof decisionOf>[0], reported = item, pk = '') =>
    headerWriter([form])([{ item: reported, pk, decision: decisionOf(parts) }], nowMs).map(([, value]) => value)

  test('reports when more units refill, or, if denied, when the request fits', () => {
    const waits = { remaining: 2, retryAfterMs: 7_001, replenishAfterMs: 601 }
    expect(write('draft-11', waits)[1]).toBe('"per minute";r=2;t=1')
    expect(write('draft-11', { ...waits, allowed: false })[1]).toBe('"per minute";r=2;t=8')
    expect(write('draft-11', { ...waits, allowed: false, retryAfterMs: Infinity })[1]).toBe('"per minute";r=2')
  })

  test('reports its unit, and its partition in both fields', () => {
    const reported = headerItem({ name: 'disk', quota: perMinute(100), unit: 'content-bytes' })
    const pk = partitionReader((key) => new TextEncoder().encode(`${key}!`), console)('ann') as string
    expect(write('draft-11', {}, reported, pk)).toEqual([
      '"disk";q=100;w=60;qu="content-bytes";pk=:YW5uIQ==:',
      '"disk";r=99;t=1;pk=:YW5uIQ==:',
    ])
    expect(write('draft-7', {}, reported, pk)).toEqual(['100;w=60', 'limit=100, remaining=99, reset=1'])
  })

  // The drafts forbid that a partition tells who it is.
  test.each<[string, (key: string) => unknown]>([
    ['is the key itself', (key) => Buffer.from(key)],
    ['is no bytes', (key) => key],
    ['is missing', () => undefined],
  ])('tells no partition that %s, and says so', (_, partition) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(partitionReader(partition as () => Uint8Array, console)('ann')).toBe('')
    expect(warn.mock.calls.flat().every((message) => message.includes('partition must return bytes'))).toBe(true)
  })

  test.each([
    ['a window below a second', tokenBucket({ limit: 10, per: 250 }), '40;w=1'],
    ['a fraction of a second more', slidingWindow({ limit: 10, window: '1.5s' }), '20;w=3'],
    ['a queue', leakyBucket({ limit: 1, per: '2s', queue: 4 }), '5;w=10'],
  ])('with %s tells whole seconds', (_, quota, numbers) =>
    expect(headerItem({ name: 'default', quota }).numbers).toBe(numbers),
  )
})

test('drafts 6 and 7 report the first of several policies with one limit', () => {
  const hourly = headerItem({ name: 'hourly', quota: slidingWindow({ limit: 100, window: '1h' }) })
  const reported = [item, hourly, burst].map((each) => ({ item: each, pk: '', decision: decisionOf() }))
  expect(headerWriter(['draft-6'])(reported, nowMs).at(-1)).toEqual(POLICY)
})

describe('the headers of a limiter behind another', () => {
  /** What a response has in the end of a field that both have set, or of several. */
  const both = (first: Record<string, unknown>, second: readonly Header[], limited = true) => {
    const response = new Map(Object.entries(first))
    for (const [name, value] of joinHeaders(second, limited, (name) => response.get(name))) response.set(name, value)
    return Object.fromEntries(response)
  }

  test.each([
    ['RateLimit-Policy', '10;w=1', '100;w=60', '10;w=1, 100;w=60'],
    ['RateLimit', '"a";r=1', '"b";r=2', '"a";r=1, "b";r=2'],
    // A dictionary with each name twice says nothing more than its last.
    ['RateLimit', 'limit=1, remaining=0, reset=1', 'limit=2, remaining=1, reset=1', 'limit=1, remaining=0, reset=1'],
    ['RateLimit', 'limit=2, remaining=1, reset=1', 'limit=1, remaining=0, reset=1', 'limit=1, remaining=0, reset=1'],
    ['RateLimit', 'limit=2, remaining=1, reset=1', '"a";r=2', '"a";r=2'],
    ['Retry-After', '1', '2', '2'],
  ])('%s: %s and %s are %s', (name, first, second, expected) => {
    expect(both({}, [[name, second]])).toEqual({ [name]: second })
    expect(both({ [name]: first }, [[name, second]])).toEqual({ [name]: expected })
  })

  const counts = (prefix: string, [limit, remaining, reset]: readonly unknown[]) => ({
    [`${prefix}-Limit`]: limit,
    [`${prefix}-Remaining`]: remaining,
    [`${prefix}-Reset`]: reset,
  })

  // The second replaced the first, which was the one that was nearly used up.
  test.each(['RateLimit', 'X-RateLimit'])('%s-* are those of the scarcer, all three', (prefix) => {
    const headersOf = (values: readonly string[]) => Object.entries(counts(prefix, values)) as unknown as Header[]
    const [few, many] = [
      ['5', '1', '60'],
      ['100', '99', '1'],
    ]
    expect(both(counts(prefix, few as string[]), headersOf(many as string[]))).toEqual(counts(prefix, few as string[]))
    expect(both(counts(prefix, many as string[]), headersOf(few as string[]))).toEqual(counts(prefix, few as string[]))
    // A header that other code has set as a number is compared as one. Of equal values the last is kept.
    expect(both(counts(prefix, [5, 0, 60]), headersOf(['9', '0', '7']))).toEqual(counts(prefix, ['9', '0', '7']))
    expect(both(counts(prefix, [5, 0, 60]), headersOf(['9', '1', '7']))).toEqual(counts(prefix, [5, 0, 60]))
  })

  test.each([
    [undefined, 'RateLimit, Retry-After'],
    ['ETag', 'ETag, RateLimit, Retry-After'],
    [['ETag', 'X-Id'], 'ETag,X-Id, RateLimit, Retry-After'],
    ['ratelimit , ETag', 'ratelimit , ETag, Retry-After'],
    ['*', '*, RateLimit, Retry-After'],
    ['RateLimit-Policy', 'RateLimit-Policy, RateLimit, Retry-After'],
  ])('what an app exposes by itself is kept: %j', (before, expected) => {
    const name = 'Access-Control-Expose-Headers'
    for (const limited of [false, true]) {
      expect(both(before === undefined ? {} : { [name]: before }, [[name, 'RateLimit, Retry-After']], limited)).toEqual(
        {
          [name]: expected,
        },
      )
    }
  })

  test('are as they are where none has been before', () => {
    const headers: Header[] = [['RateLimit', '"a";r=1']]
    expect(both({ RateLimit: 'anything' }, headers, false)).toEqual({ RateLimit: '"a";r=1' })
  })
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
  const { policy } = headerItem({ name: 'a', quota })
  expect(policy).toBe(`"a";${expected}`)
})

test('what is advertised is the rate, as far as whole numbers go, and no less than what fits at once', () => {
  fc.assert(
    fc.property(quotas, (quota) => {
      const { limit, window } = advertised(quota)
      const exact = quota.kernel === 'warm-up' || (quota.kernel === 'bucket' && quota.schedule === null)
      const rate = exact ? quota.scale / quota.ticksPerUnit : quota.limit / quota.window
      expect(limit).toBeGreaterThanOrEqual(quota.limit)
      expect(limit / (window * 1e6) / rate).toBeLessThanOrEqual(1.011)
      expect(limit / (window * 1e6) / rate).toBeGreaterThan(0.89)
    }),
  )
})

test('no header is sent if no policy counted', () =>
  expect(headerWriter(['draft-6', 'draft-11', 'legacy-epoch'])([], nowMs)).toEqual([]))
