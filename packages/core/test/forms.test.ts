import { describe, expect, test, vi } from 'vitest'
import { headerItem, partitionReader } from '../src/http/fields.ts'
import { formsOf, type HeaderForm, headerWriter } from '../src/http/forms.ts'
import { joined } from '../src/http/headers.ts'
import { leakyBucket, perMinute, QuotaError, slidingWindow, tokenBucket } from '../src/index.ts'
import { decisionOf } from './decisions.ts'

const NOW = Date.UTC(2026, 0, 1)
const nowMs = (): number => NOW

// Two policies, of which the second has less left: 3 of 10 in some 7.5 seconds.
const item = headerItem({ name: 'per minute', quota: perMinute(100) })
const burst = headerItem({ name: 'burst', quota: tokenBucket({ limit: 4, per: '3s', burst: 10 }) })
const TOLD = [
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
  expect(headerWriter(formsOf(forms))(TOLD, nowMs)).toEqual(headers)
  expect(headerWriter(formsOf(forms.toReversed()))(TOLD, nowMs)).toEqual(headers)
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
  ])('%j is refused', (option, message) => {
    expect(() => formsOf(option as HeaderForm)).toThrow(QuotaError)
    expect(() => formsOf(option as HeaderForm)).toThrow(message)
  })
})

describe('one policy', () => {
  const write = (form: HeaderForm, parts: Parameters<typeof decisionOf>[0], told = item, pk = '') =>
    headerWriter([form])([{ item: told, pk, decision: decisionOf(parts) }], nowMs).map(([, value]) => value)

  test('tells when there is more, or, refused, when the request fits', () => {
    const waits = { remaining: 2, retryAfterMs: 7_001, replenishAfterMs: 601 }
    expect(write('draft-11', waits)[1]).toBe('"per minute";r=2;t=1')
    expect(write('draft-11', { ...waits, allowed: false })[1]).toBe('"per minute";r=2;t=8')
    expect(write('draft-11', { ...waits, allowed: false, retryAfterMs: Infinity })[1]).toBe('"per minute";r=2')
  })

  test('tells its unit, and its partition in both fields', () => {
    const told = headerItem({ name: 'disk', quota: perMinute(100), unit: 'content-bytes' })
    const pk = partitionReader((key) => new TextEncoder().encode(`${key}!`))('ann') as string
    expect(write('draft-11', {}, told, pk)).toEqual([
      '"disk";q=100;w=60;qu="content-bytes";pk=:YW5uIQ==:',
      '"disk";r=99;t=1;pk=:YW5uIQ==:',
    ])
    expect(write('draft-7', {}, told, pk)).toEqual(['100;w=60', 'limit=100, remaining=99, reset=1'])
  })

  // The drafts forbid that a partition tells who it is.
  test.each<[string, (key: string) => unknown]>([
    ['is the key itself', (key) => Buffer.from(key)],
    ['is no bytes', (key) => key],
    ['is missing', () => undefined],
  ])('tells no partition that %s, and says so', (_, partition) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(partitionReader(partition as () => Uint8Array)('ann')).toBe('')
    expect(warn.mock.calls.flat().every((message) => message.includes('partition must return bytes'))).toBe(true)
  })

  test.each([
    ['a window below a second', tokenBucket({ limit: 10, per: 250 }), '10;w=1'],
    ['a fraction of a second more', slidingWindow({ limit: 10, window: '1.5s' }), '10;w=2'],
    ['a queue', leakyBucket({ limit: 1, per: '2s', queue: 4 }), '5;w=10'],
  ])('with %s tells whole seconds, rounded up', (_, quota, numbers) =>
    expect(headerItem({ name: 'default', quota }).numbers).toBe(numbers),
  )
})

test('drafts 6 and 7 tell the first of several policies with one limit', () => {
  const hourly = headerItem({ name: 'hourly', quota: slidingWindow({ limit: 100, window: '1h' }) })
  const told = [item, hourly, burst].map((each) => ({ item: each, pk: '', decision: decisionOf() }))
  expect(headerWriter(['draft-6'])(told, nowMs).at(-1)).toEqual(POLICY)
})

test.each([
  ['RateLimit-Policy', '10;w=1', '100;w=60', '10;w=1, 100;w=60'],
  ['RateLimit', '"a";r=1', '"b";r=2', '"a";r=1, "b";r=2'],
  // A dictionary with each name twice says nothing more than its last.
  ['RateLimit', 'limit=1, remaining=0, reset=1', 'limit=2, remaining=1, reset=1', 'limit=2, remaining=1, reset=1'],
  ['RateLimit-Reset', '1', '2', '2'],
  ['Retry-After', '1', '2', '2'],
])('%s of two limiters, %s and %s, is told as %s', (name, first, second, both) => {
  expect(joined(undefined, [name, first])).toBe(first)
  expect(joined(first, [name, second])).toBe(both)
})

test('nothing is told where no policy counted', () =>
  expect(headerWriter(['draft-6', 'draft-11', 'legacy-epoch'])([], nowMs)).toEqual([]))
