import { fakeClock, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { parseRateLimit } from 'ratelimit-header-parser'
import { parseDictionary, parseList } from 'structured-headers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { advertised } from '../src/http/headers/header-item.ts'
import { type HeaderForm, httpGuard, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import {
  type Decision,
  fixedWindow,
  leakyBucket,
  perMinute,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'

// What each algorithm tells in each form of the headers: of a request that is taken, of one that is denied for now, and
// one that never can be. All ask a quarter of a second after 2026 has begun, on behalf of one client, one after the other.

const ALGORITHMS: Readonly<Record<string, Quota>> = {
  'token bucket': perMinute(10, { burst: 5 }),
  'in 250 ms': tokenBucket({ limit: 10, per: 250 }),
  'in 30 days': tokenBucket({ limit: 10, per: '30d' }),
  'interval refill': tokenBucket({ limit: 10, per: '1m', refill: '30s' }),
  overdraft: tokenBucket({ limit: 10, per: '1m', overdraft: 5 }),
  'fixed window': fixedWindow({ limit: 10, window: '1m' }),
  'from first': fixedWindow({ limit: 10, window: '1m', align: 'first' }),
  'sliding window': slidingWindow({ limit: 10, window: '1m' }),
  'sliding log': slidingLog({ limit: 10, window: '1m' }),
  'leaky bucket': leakyBucket({ limit: 10, per: '1m', queue: 4 }),
}

const TABLE = `
algorithm       | cost       | RateLimit-Policy     | RateLimit          | 6 and 7      | RateLimit of 7                      | 6, X-       | epoch      | Retry-After
token bucket    | 1 taken    | "api";q=5;w=30       | "api";r=4;t=6      | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 |
token bucket    | 5 denied   | "api";q=5;w=30       | "api";r=4;t=6      | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 | 6
token bucket    | 6 never    | "api";q=5;w=30       | "api";r=4          | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 |
in 250 ms       | 1 taken    | "api";q=40;w=1       | "api";r=9;t=1      | 40;w=1       | limit=40, remaining=9, reset=1      | 40 9 1      | 1767225601 |
in 250 ms       | 10 denied  | "api";q=40;w=1       | "api";r=9;t=1      | 40;w=1       | limit=40, remaining=9, reset=1      | 40 9 1      | 1767225601 | 1
in 250 ms       | 11 never   | "api";q=40;w=1       | "api";r=9          | 40;w=1       | limit=40, remaining=9, reset=1      | 40 9 1      | 1767225601 |
in 30 days      | 1 taken    | "api";q=10;w=2592000 | "api";r=9;t=259200 | 10;w=2592000 | limit=10, remaining=9, reset=259200 | 10 9 259200 | 1767484801 |
in 30 days      | 10 denied  | "api";q=10;w=2592000 | "api";r=9;t=259200 | 10;w=2592000 | limit=10, remaining=9, reset=259200 | 10 9 259200 | 1767484801 | 259200
in 30 days      | 11 never   | "api";q=10;w=2592000 | "api";r=9          | 10;w=2592000 | limit=10, remaining=9, reset=259200 | 10 9 259200 | 1767484801 |
interval refill | 1 taken    | "api";q=10;w=60      | "api";r=9;t=30     | 10;w=60      | limit=10, remaining=9, reset=30     | 10 9 30     | 1767225630 |
interval refill | 10 denied  | "api";q=10;w=60      | "api";r=9;t=30     | 10;w=60      | limit=10, remaining=9, reset=30     | 10 9 30     | 1767225630 | 30
interval refill | 11 never   | "api";q=10;w=60      | "api";r=9          | 10;w=60      | limit=10, remaining=9, reset=30     | 10 9 30     | 1767225630 |
overdraft       | 1 taken    | "api";q=10;w=60      | "api";r=9;t=6      | 10;w=60      | limit=10, remaining=9, reset=6      | 10 9 6      | 1767225607 |
overdraft       | 10 taken   | "api";q=10;w=60      | "api";r=0;t=12     | 10;w=60      | limit=10, remaining=0, reset=66     | 10 0 66     | 1767225667 |
overdraft       | 15 denied  | "api";q=10;w=60      | "api";r=0;t=66     | 10;w=60      | limit=10, remaining=0, reset=66     | 10 0 66     | 1767225667 | 66
overdraft       | 16 never   | "api";q=10;w=60      | "api";r=0          | 10;w=60      | limit=10, remaining=0, reset=66     | 10 0 66     | 1767225667 |
fixed window    | 1 taken    | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225660 |
fixed window    | 10 denied  | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225660 | 60
fixed window    | 11 never   | "api";q=10;w=60      | "api";r=9          | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225660 |
from first      | 1 taken    | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 |
from first      | 10 denied  | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 | 60
from first      | 11 never   | "api";q=10;w=60      | "api";r=9          | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 |
sliding window  | 1 taken    | "api";q=10;w=60      | "api";r=9;t=61     | 10;w=60      | limit=10, remaining=9, reset=120    | 10 9 120    | 1767225721 |
sliding window  | 10 denied  | "api";q=10;w=60      | "api";r=9;t=61     | 10;w=60      | limit=10, remaining=9, reset=61     | 10 9 61     | 1767225661 | 61
sliding window  | 11 never   | "api";q=10;w=60      | "api";r=9          | 10;w=60      | limit=10, remaining=9, reset=120    | 10 9 120    | 1767225721 |
sliding log     | 1 taken    | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 |
sliding log     | 10 denied  | "api";q=10;w=60      | "api";r=9;t=60     | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 | 60
sliding log     | 11 never   | "api";q=10;w=60      | "api";r=9          | 10;w=60      | limit=10, remaining=9, reset=60     | 10 9 60     | 1767225661 |
leaky bucket    | 1 taken    | "api";q=5;w=30       | "api";r=4;t=6      | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 |
leaky bucket    | 5 denied   | "api";q=5;w=30       | "api";r=4;t=6      | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 | 6
leaky bucket    | 6 never    | "api";q=5;w=30       | "api";r=4          | 5;w=30       | limit=5, remaining=4, reset=6       | 5 4 6       | 1767225607 |
`

const [, ...rows] = TABLE.trim()
  .split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim()))

/** The header fields of each form that a row of the table tells of. */
function fieldsOf(row: readonly string[]): Record<string, object> {
  const [, , policy, limit, numbers, seven, six, epoch, retry] = row
  const [most, left, reset] = (six ?? '').split(' ')
  const after = retry === '' ? {} : { 'Retry-After': retry }
  const three = (prefix: string, reset: string | undefined) => ({
    [`${prefix}-Limit`]: most,
    [`${prefix}-Remaining`]: left,
    [`${prefix}-Reset`]: reset,
  })
  return {
    'draft-11': { 'RateLimit-Policy': policy, RateLimit: limit, ...after },
    'draft-7': { 'RateLimit-Policy': numbers, RateLimit: seven, ...after },
    'draft-6': { ...three('RateLimit', reset), 'RateLimit-Policy': numbers, ...after },
    'legacy-delta': { ...three('X-RateLimit', reset), ...after },
    'legacy-epoch': { ...three('X-RateLimit', epoch), ...after },
  }
}

const FORMS = ['draft-11', 'draft-7', 'draft-6', 'legacy-delta', 'legacy-epoch'] as const
const NOW_MS = Date.UTC(2026, 0, 1) + 250

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Sends each of the costs up to a row's through a new guard, and returns the last verdict. */
async function asked(algorithm: string, upTo: number, headers: HeaderForm): Promise<Verdict> {
  const clock = fakeClock(NOW_MS * 1000)
  const cost = (request: { cost: number }): number => request.cost
  const quota = ALGORITHMS[algorithm] as Quota
  const guard = httpGuard({ name: 'api', quota, cost, headers, store: modelStore(clock) }, plainReader)
  let verdict: Verdict | undefined
  for (const row of rows.slice(0, upTo + 1))
    if (row[0] === algorithm) verdict = await guard({ cost: Number.parseInt(row[1] as string, 10) })
  return verdict as Verdict
}

const seconds = (millis: number): number => Math.ceil(millis / 1000)

/** What two readers, neither of which is ours, find in the headers of a form. */
function readBack(form: (typeof FORMS)[number], headers: Record<string, string>): object {
  const of = (parameters: unknown): object => Object.fromEntries(parameters as Map<string, unknown>)
  const [policy, limit] = [headers['RateLimit-Policy'] ?? '', headers.RateLimit ?? '']
  switch (form) {
    case 'draft-11':
      return {
        policy: parseList(policy).map(([name, p]) => [name, of(p)]),
        limit: parseList(limit).map(([name, p]) => [name, of(p)]),
      }
    case 'draft-7': {
      const parts = [...parseDictionary(limit)].map(([name, [value]]) => [name, value])
      return { policy: parseList(policy).map(([most, p]) => [most, of(p)]), limit: Object.fromEntries(parts) }
    }
    default:
      return parseRateLimit(new Headers(headers), { reset: form === 'legacy-epoch' ? 'unix' : 'seconds' }) ?? {}
  }
}

/** What they should find, by the decision and its quota. */
function expected(form: (typeof FORMS)[number], decision: Decision, quota: Quota): object {
  const { allowed, remaining, retryAfterMs, replenishAfterMs, resetAfterMs } = decision
  const { limit, window: w } = advertised(quota)
  const t = seconds(allowed ? replenishAfterMs : retryAfterMs)
  // Reproduces a bug: Retry-After and the reset of a denial named two moments.
  const resetMs = allowed || retryAfterMs === Infinity ? resetAfterMs : retryAfterMs
  const reset = seconds(resetMs)
  switch (form) {
    case 'draft-11':
      return {
        policy: [['api', { q: limit, w }]],
        limit: [['api', { r: remaining, ...(t < Infinity && { t }) }]],
      }
    case 'draft-7':
      return { policy: [[limit, { w }]], limit: { limit, remaining, reset } }
    case 'legacy-epoch':
      return { limit, remaining, used: limit - remaining, reset: new Date(seconds(NOW_MS + resetMs) * 1000) }
    default:
      return { limit, remaining, used: limit - remaining, reset: new Date(NOW_MS + reset * 1000) }
  }
}

test.each(rows.map((row, i) => [row[0] as string, row[1] as string, i, row] as const))(
  '%s: %s',
  async (algorithm, outcome, i, row) => {
    for (const form of FORMS) {
      const { decision, headers, denial } = await asked(algorithm, i, form)
      const reported = Object.fromEntries(headers)
      expect(reported, form).toEqual(fieldsOf(row)[form])
      expect(readBack(form, reported), form).toEqual(
        expected(form, decision as Decision, ALGORITHMS[algorithm] as Quota),
      )
      expect(denial === undefined ? 'taken' : decision?.retryAfterMs === Infinity ? 'never' : 'denied').toBe(
        outcome.split(' ')[1],
      )
    }
  },
)

// Row 3 of the peers' bugs: a reset is reported in seconds from now, and in seconds since 1970 as soon as some option is set.
test('no other option changes the headers', async () => {
  const options: readonly Partial<RateLimitOptions<{ cost: number }>>[] = [
    { skip: () => false },
    { quota: () => ALGORITHMS['token bucket'] as Quota },
    { match: { method: 'GET' } },
    { cost: async () => 1 },
    { refundIf: () => false },
    { settle: () => 1 },
    { jitter: 0.5 },
    { maxWait: 1 },
    { key: ['ip', 'path'] },
    { claims: () => ({}) },
    { trustProxy: 1 },
    { onDecision: () => {} },
    { onDenied: () => ({}) },
    { problem: 'abnormal-usage-detected' },
    { onStoreError: 'deny' },
    { deadline: '1s' },
    { ipv6Prefix: 64 },
  ]
  const reported = async (form: HeaderForm, some: typeof options): Promise<unknown> => {
    const plain = {
      name: 'api',
      quota: ALGORITHMS['token bucket'] as Quota,
      store: modelStore(fakeClock(NOW_MS * 1000)),
    }
    const guard = httpGuard({ ...plain, headers: form, ...Object.assign({}, ...some) }, plainReader)
    return (await guard({ cost: 1 })).headers
  }
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...FORMS), fc.subarray([...options]), async (form, some) => {
      expect(await reported(form, some)).toEqual(await reported(form, []))
    }),
    { numRuns: 300 },
  )
})

test('every algorithm has its rows', () => {
  expect(new Set(rows.map(([algorithm]) => algorithm))).toEqual(new Set(Object.keys(ALGORITHMS)))
})
