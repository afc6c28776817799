import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { expect, test, vi } from 'vitest'
import { httpGuard, type RateLimitOptions, type RequestReader, type Verdict } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'

// That the options reach the modules which have tests of their own.

interface FakeRequest {
  readonly peer?: string
  readonly headers?: Record<string, string>
  readonly user?: Record<string, unknown>
}

const reader: RequestReader<FakeRequest> = {
  address: ({ peer }) => peer,
  peer: ({ peer }) => peer,
  method: () => 'GET',
  path: () => '/',
  header: ({ headers }, name) => headers?.[name],
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: () => () => {},
}

const evaluatorOf = (options: RateLimitOptions<FakeRequest>) => {
  const guard = httpGuard({ store: modelStore(fakeClock()), ...options }, reader)
  return (request: FakeRequest): Verdict => guard({ ...request }) as Verdict
}

test('trustProxy reads the client from behind a proxy, and not from what the client writes', () => {
  const evaluate = evaluatorOf({ quota: perMinute(1), trustProxy: 1 })
  const from = (forwarded: string) =>
    evaluate({ peer: '10.0.0.1', headers: { 'x-forwarded-for': forwarded } }).denial?.status ?? 200
  expect([from('203.0.113.7'), from('203.0.113.8'), from('spoofed, 203.0.113.7')]).toEqual([200, 200, 429])
})

test('a proxy that the framework knows of is not warned about', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const knowing = { ...reader, address: ({ headers }: FakeRequest) => headers?.['x-forwarded-for'] }
  const guard = httpGuard({ quota: perMinute(9), store: modelStore(fakeClock()) }, knowing)
  void guard({ peer: '10.0.0.1', headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(warn).not.toHaveBeenCalled()
})

test('an untrusted proxy is warned about once, with the fix', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const evaluate = evaluatorOf({ quota: perMinute(9) })
  for (let i = 0; i < 3; i++) evaluate({ peer: '10.0.0.1', headers: { 'x-forwarded-for': '203.0.113.7' } })
  expect(warn.mock.calls).toEqual([[expect.stringContaining('set trustProxy: 1')]])
})

test('headers come in the forms that are asked for', () => {
  const evaluate = evaluatorOf({ quota: perMinute(2), headers: ['draft-6', 'legacy-delta'] })
  expect(Object.fromEntries(evaluate({ peer: 'a' }).headers)).toEqual({
    'RateLimit-Limit': '2',
    'RateLimit-Policy': '2;w=60',
    'RateLimit-Remaining': '1',
    'RateLimit-Reset': '30',
    'X-RateLimit-Limit': '2',
    'X-RateLimit-Remaining': '1',
    'X-RateLimit-Reset': '30',
  })
})

// Reproduces a bug: a denial had Retry-After: 20 beside a reset in 60 seconds.
test.each(['draft-6', 'draft-7', 'legacy-delta', 'legacy-epoch'] as const)(
  'with %s the reset of a denial is the moment of Retry-After, with jitter, too, and if it is not known',
  async (form) => {
    vi.useFakeTimers({ now: 250, toFake: ['Date'] })
    const resetOf = ({ headers }: Verdict): number => {
      const [, value] = headers.find(([name]) => name === 'RateLimit' || name.endsWith('-Reset')) as readonly string[]
      return Number(/\d+$/.exec(value as string)?.[0])
    }
    const retryOf = ({ headers }: Verdict): number => Number(Object.fromEntries(headers)['Retry-After'])
    for (const jitter of [0, 0.5]) {
      const evaluate = evaluatorOf({ quota: perMinute(3), headers: form, jitter })
      const verdicts = Array.from({ length: 4 }, () => evaluate({ peer: 'a' }))
      const denied = verdicts[3] as Verdict
      expect(resetOf(denied)).toBe(retryOf(denied) + (form === 'legacy-epoch' ? 1 : 0))
      expect(resetOf(verdicts[2] as Verdict)).toBeGreaterThanOrEqual(60)
    }
    const remote = faultyStore(modelStore(fakeClock()))
    const policies = [
      { name: 'a', quota: perMinute(3), store: modelStore(fakeClock()) },
      { name: 'b', quota: perMinute(3), onStoreError: 'deny' },
    ] as const
    remote.break('failing')
    const guard = httpGuard({ policies, store: remote, headers: form, logger: { warn: () => {} } }, reader)
    const unavailable = await guard({ peer: 'a' })
    expect([retryOf(unavailable), resetOf(unavailable)]).toEqual([1, form === 'legacy-epoch' ? 2 : 1])
    vi.useRealTimers()
  },
)

test('jitter adds to Retry-After only, the same for the same client and spread over clients', () => {
  const evaluate = evaluatorOf({ quota: perMinute(1), jitter: 0.5 })
  const waits = Array.from({ length: 50 }, (_, i) => {
    evaluate({ peer: `client ${i}` })
    const denied = [evaluate({ peer: `client ${i}` }), evaluate({ peer: `client ${i}` })]
    const [first, second] = denied.map(({ headers }) => Number(Object.fromEntries(headers)['Retry-After']))
    expect(first).toBe(second)
    expect(denied[0]?.headers[1]).toEqual(['RateLimit', '"default";r=0;t=60'])
    return first as number
  })
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(60)
  expect(Math.max(...waits)).toBeLessThanOrEqual(90)
  expect(new Set(waits).size).toBeGreaterThan(10)
})

test('rules written as JSON are policies: the enterprise and the free tier of the published example', () => {
  const bucket = (rps: number) => ({ algorithm: 'token_bucket', algorithm_config: { rps, burst: 2 * rps } })
  const policies = policiesFrom({
    rules: [
      { name: 'enterprise', limit_keys: ['header:x-api-key'], ...bucket(1000), match: { 'jwt:plan': 'enterprise' } },
      { name: 'free', limit_keys: ['header:x-api-key'], ...bucket(10) },
    ],
  })
  const evaluate = evaluatorOf({ policies, claims: ({ user }) => user })
  const reported = (request: FakeRequest) => evaluate({ headers: { 'x-api-key': 'k' }, ...request }).headers[0]?.[1]
  expect(reported({ user: { plan: 'enterprise' } })).toBe('"enterprise";q=2000;w=2')
  expect(reported({})).toBe('"free";q=20;w=2')
})

test.each([
  ['trustProxy', true, 'trustProxy'],
  ['headers', 'legacy', 'legacy-delta'],
  ['jitter', 2, 'jitter must be 0 to 0.5'],
])('a wrong %s is rejected when the limiter is built', (name, value, message) => {
  expect(() => evaluatorOf({ quota: perMinute(1), [name]: value } as never)).toThrow(message)
})
