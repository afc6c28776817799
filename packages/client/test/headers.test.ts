import { type AnswerHeaders, readRateLimit } from '@spillway/client'
import type { HeaderForm } from '@spillway/core/http'
import { type Decision, decisionOf, perSecond, type Quota, rateLimit, slidingLog, tokenBucket } from '@spillway/fetch'
import { memoryStore } from '@spillway/memory'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { EXAMPLES } from './examples.ts'

const NOW = Date.UTC(2026, 0, 1)

describe('reads what partners document', () => {
  test.each(EXAMPLES)('$partner', ({ headers, report }) => {
    expect(readRateLimit(new Headers(headers), NOW)).toEqual(report)
    expect(readRateLimit(headers, NOW)).toEqual(report)
  })
})

const FORMS: readonly HeaderForm[] = ['draft-6', 'draft-7', 'draft-8', 'draft-11', 'legacy-delta', 'legacy-epoch']

const quotas = fc
  .record({ limit: fc.integer({ min: 1, max: 20 }), per: fc.integer({ min: 1, max: 200_000 }), log: fc.boolean() })
  .map(({ limit, per, log }) => (log ? slidingLog({ limit, window: per }) : tokenBucket({ limit, per })))

/** Any name that may stand in headers: with quotes, semicolons and commas in it. */
const names = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 12,
})

const inSeconds = (ms: number): number => Math.ceil(ms / 1_000) * 1_000

interface Case {
  readonly policies: readonly { readonly name: string; readonly quota: Quota }[]
  readonly form: HeaderForm
  readonly calls: number
}

/** The headers of the last of some calls, and its decision. */
async function written({ policies, form, calls }: Case) {
  const store = memoryStore({ clock: () => NOW * 1_000 })
  const keyed = policies.map((each) => ({ ...each, key: () => 'ann' }))
  const handler = rateLimit({ policies: keyed, store, headers: form })(() => new Response('ok'))
  for (let i = 1; i < calls; i++) await handler(new Request('https://api.example/'))
  const request = new Request('https://api.example/')
  const { headers } = await handler(request)
  return { headers, decision: decisionOf(request) as Decision }
}

// The writer is that of all adapters. Each reads what the other has written, whatever the quota is.
test('the reader reads what the writer of limiters writes', async () => {
  const arbitrary = fc.record({
    policies: fc.uniqueArray(fc.record({ name: names, quota: quotas }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ name }) => name,
    }),
    form: fc.constantFrom(...FORMS),
    calls: fc.integer({ min: 1, max: 25 }),
  })
  const property = fc.asyncProperty(arbitrary, async (each) => {
    const { headers, decision } = await written(each)
    const { retryAfterMs, limits } = readRateLimit(headers, NOW)
    expect(retryAfterMs).toBe(decision.allowed ? undefined : inSeconds(decision.retryAfterMs))
    const all = decision.policies ?? [decision]
    if (['draft-8', 'draft-11'].includes(each.form)) {
      expect(limits.map(({ name, remaining }) => [name, remaining])).toEqual(
        all.map(({ policy, remaining }) => [policy, remaining]),
      )
      const waits = all.map((one) => inSeconds(one.allowed ? one.replenishAfterMs : one.retryAfterMs) || undefined)
      expect(limits.map(({ resetAfterMs }) => resetAfterMs)).toEqual(waits)
      for (const { limit, windowMs } of limits) expect(Math.min(limit ?? 0, windowMs ?? 0)).toBeGreaterThan(0)
    } else {
      expect(limits).toHaveLength(1)
      expect(all.map(({ remaining }) => remaining)).toContain(limits[0]?.remaining)
      expect([...all.map(({ resetAfterMs }) => inSeconds(resetAfterMs)), retryAfterMs]).toContain(
        limits[0]?.resetAfterMs,
      )
    }
  })
  vi.useFakeTimers({ now: NOW, toFake: ['Date'] })
  try {
    await fc.assert(property, { numRuns: 100 })
  } finally {
    vi.useRealTimers()
  }
})

const read = (headers: AnswerHeaders) => readRateLimit(headers, NOW)

describe('times', () => {
  test('are durations before dates, and dates are compared with the Date of the answer', () => {
    // The clocks are a day apart.
    const date = new Date(NOW + 86_400_000)
    const at = (ms: number) => new Date(date.getTime() + ms)
    const headers = { date: date.toUTCString(), 'retry-after': at(7_000).toUTCString() }
    expect(read(headers).retryAfterMs).toBe(7_000)
    const reset = Math.ceil(at(9_000).getTime() / 1_000)
    for (const text of [String(reset), String(reset * 1_000), at(9_000).toISOString(), '9', '9s', '9000ms']) {
      expect(
        read({ date: date.toUTCString(), 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': text }).limits,
      ).toMatchObject([{ resetAfterMs: 9_000 }])
    }
    expect(
      read({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset), 'x-ratelimit-reset-after': '2.5' })
        .limits,
    ).toMatchObject([{ resetAfterMs: 2_500 }])
  })

  test('have all forms of RFC 9110', () => {
    for (const text of [
      'Thu, 01 Jan 2026 00:00:37 GMT',
      'Thursday, 01-Jan-26 00:00:37 GMT',
      'Thu Jan  1 00:00:37 2026',
    ]) {
      expect(read({ 'retry-after': text }).retryAfterMs).toBe(37_000)
    }
  })

  test('that are over are 0', () => {
    expect(read({ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }).retryAfterMs).toBe(0)
    expect(read({ 'x-ratelimit-limit': '1', 'x-ratelimit-reset': '1470173023' }).limits).toMatchObject([
      { resetAfterMs: 0 },
    ])
  })

  test('are the longest of several', () => {
    expect(read({ 'retry-after': '3, 30, x' }).retryAfterMs).toBe(30_000)
    expect(read({ 'retry-after': ['3', '30'] }).retryAfterMs).toBe(30_000)
  })
})

describe('a partner that lies', () => {
  const LIES = [
    '-5',
    'NaN',
    'Infinity',
    '1e9',
    '0x10',
    '99999999999999999999',
    'soon',
    '',
    ' ',
    '"',
    '";";,=',
    'Fri',
    '٣',
    '-0',
  ]

  test.each(LIES)('%o is none of the numbers', (lie) => {
    const names = ['limit', 'remaining', 'reset', 'reset-after', 'limit-requests', 'remaining-requests']
    const headers = Object.fromEntries([
      ...['retry-after', 'retry-after-ms', 'ratelimit', 'ratelimit-policy', 'x-shopify-shop-api-call-limit'].map(
        (name) => [name, lie],
      ),
      ...['ratelimit-', 'x-ratelimit-', 'x-rate-limit-'].flatMap((prefix) => names.map((name) => [prefix + name, lie])),
    ])
    expect(read(headers)).toEqual({ retryAfterMs: undefined, limits: [] })
    expect(read({ ratelimit: `"a";r=${lie};t=${lie}`, 'ratelimit-policy': `"a";q=${lie};w=${lie}` }).limits).toEqual([])
  })

  test('whatever it sends, numbers are none or not negative', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom('1', '1.5', '-1', '"a";r=0;t=5', '"a";q=5;w=1', 'limit=5', '5;w=1', '1/2'),
    )
    const fields = [
      'retry-after',
      'retry-after-ms',
      'date',
      'ratelimit',
      'ratelimit-policy',
      'ratelimit-limit',
      'ratelimit-reset',
    ]
    const headers = fc.dictionary(fc.constantFrom(...fields, 'x-ratelimit-remaining', 'x-ratelimit-reset'), text)
    const isNumber = (value: number | undefined) => value === undefined || (Number.isFinite(value) && value >= 0)
    fc.assert(
      fc.property(headers, (each) => {
        const { retryAfterMs, limits } = read(each)
        expect(isNumber(retryAfterMs)).toBe(true)
        for (const { limit, windowMs, remaining, resetAfterMs } of limits)
          expect([limit, windowMs, remaining, resetAfterMs].every(isNumber)).toBe(true)
      }),
    )
  })

  test('a header of a megabyte is read as far as it may be long', () => {
    for (const unit of ['"', '\\"', '"\\', 'a;', ',', '1s', 'Mon, ', '0']) {
      const text = unit.repeat(2 ** 20 / unit.length)
      expect(
        read({ ratelimit: text, 'ratelimit-policy': text, 'retry-after': text, date: text }).retryAfterMs,
      ).toBeUndefined()
      expect(read({ 'x-ratelimit-limit': text, 'x-ratelimit-reset': text }).limits).toEqual([])
    }
  })

  test('a name that objects have is no field', () => {
    expect(read({}).limits).toEqual([])
    expect(read(Object.create(null)).limits).toEqual([])
  })
})

test('a limit of perSecond is reported with its window', async () => {
  const handler = rateLimit({ quota: perSecond(100, { burst: 1 }), key: () => 'ann' })(() => new Response('ok'))
  const { limits } = readRateLimit((await handler(new Request('https://api.example/'))).headers)
  expect(limits).toMatchObject([{ name: 'default', limit: 100, windowMs: 1_000, remaining: 0 }])
})
