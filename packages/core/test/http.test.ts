import { fakeClock, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { httpGuard, type RateLimitOptions, type RequestReader, type Verdict } from '../src/http/index.ts'
import { perMinute, perSecond, QuotaError, tokenBucket } from '../src/index.ts'

interface FakeRequest {
  readonly ip?: string
  readonly path?: string
  readonly headers?: Record<string, string>
}

const reader: RequestReader<FakeRequest> = {
  address: ({ ip }) => ip,
  method: () => 'GET',
  path: ({ path = '/' }) => path,
  header: ({ headers }, name) => headers?.[name],
  query: () => undefined,
  peer: ({ ip }) => ip,
  identity: (request) => request,
  onClientClosed: () => () => {},
}

const guardOf = (options: object) =>
  httpGuard({ store: modelStore(fakeClock()), ...options } as RateLimitOptions<FakeRequest> & { store: never }, reader)

const evaluate = (guard: ReturnType<typeof guardOf>, request: FakeRequest = { ip: '203.0.113.7' }): Verdict => {
  const verdict = guard({ ...request })
  if (verdict instanceof Promise) throw new Error('a store in this process answers at once')
  return verdict
}

describe('the guard', () => {
  test('counts an IPv6 network as one client, and a mapped address as the IPv4 it is', () => {
    const guard = guardOf({ quota: perMinute(1) })
    const statuses = ['2001:db8::1', '2001:db8:0:ff::2', '2001:db8:0:100::1', '::ffff:1.2.3.4', '1.2.3.4'].map(
      (ip) => evaluate(guard, { ip }).denial?.status ?? 200,
    )
    expect(statuses).toEqual([200, 429, 200, 200, 429])
  })

  // Row 2 of the peers' bugs by another way: what tells each connection apart is a new client each time.
  test('counts an address without the port that a proxy has written beside it', () => {
    const guard = guardOf({ quota: perMinute(1), skip: { ip: '192.0.2.7' } })
    const addresses = [
      '203.0.113.7:5001',
      '203.0.113.7:5002',
      '203.0.113.7',
      '[2001:db8::1]:80',
      '[2001:db8::2]',
      '1:2',
    ]
    expect(addresses.map((ip) => evaluate(guard, { ip }).denial?.status ?? 200)).toEqual([200, 429, 429, 200, 429, 200])
    expect(evaluate(guard, { ip: '192.0.2.7:80' }).decision).toBeUndefined()
  })

  test('counts all requests without an address as one client', () => {
    const guard = guardOf({ quota: perMinute(1) })
    expect([evaluate(guard, {}).denial, evaluate(guard, {}).denial?.status]).toEqual([undefined, 429])
  })

  test('leaves uncounted what is skipped, and what has no key', () => {
    const skipping = guardOf({ quota: perMinute(1), skip: ({ ip }: FakeRequest) => ip === 'health' })
    const keyless = guardOf({ quota: perMinute(1), key: ({ ip }: FakeRequest) => ip })
    for (const verdict of [
      evaluate(skipping, { ip: 'health' }),
      evaluate(skipping, { ip: 'health' }),
      evaluate(keyless, {}),
      evaluate(keyless, {}),
    ]) {
      expect(verdict).toMatchObject({ decision: undefined, headers: [], denial: undefined, after: undefined })
    }
  })

  test('leaves a policy out of the headers when it does not count the request', () => {
    const guard = guardOf({
      policies: [
        { name: 'ip', quota: perMinute(5) },
        { name: 'user', quota: perMinute(9), key: ({ headers }: FakeRequest) => headers?.user },
      ],
    })
    expect(evaluate(guard).headers).toEqual([
      ['RateLimit-Policy', '"ip";q=5;w=60'],
      ['RateLimit', '"ip";r=4;t=12'],
    ])
    expect(evaluate(guard, { ip: '203.0.113.7', headers: { user: 'ann' } }).headers[1]).toEqual([
      'RateLimit',
      '"ip";r=3;t=12, "user";r=8;t=7',
    ])
  })

  test('reports the rate in whole seconds, and waits rounded up to them', () => {
    const guard = guardOf({ quota: tokenBucket({ limit: 10, per: 250, burst: 12 }) })
    expect(evaluate(guard).headers).toEqual([
      ['RateLimit-Policy', '"default";q=40;w=1'],
      ['RateLimit', '"default";r=11;t=1'],
    ])
  })

  test.each([
    ['no quota', {}, 'quota must be built by'],
    ['an unknown option', { quota: perMinute(1), windowMs: 5 }, 'rateLimit has no option "windowMs"'],
    ['a misspelt option', { quota: perMinute(1), keys: 'ip' }, 'Did you mean "key"?'],
    ['an unknown selector', { quota: perMinute(1), key: 'address' }, 'key knows the selectors'],
    ['a selector without a name', { quota: perMinute(1), key: 'header:' }, 'has no name'],
    ['a header without a name', { quota: perMinute(1), key: 'header' }, `write 'header:NAME'`],
    ['a cookie without a name', { quota: perMinute(1), key: 'cookie' }, `write 'cookie:NAME'`],
    ['a parameter without a name', { quota: perMinute(1), key: ['ip', 'query'] }, `write 'query:NAME'`],
    ['a claim without a name', { quota: perMinute(1), key: 'claim', claims: () => ({}) }, `write 'claim:NAME'`],
    ['a cost without a name', { quota: perMinute(1), cost: 'header' }, `write 'header:NAME'`],
    ['a header that can be none', { quota: perMinute(1), key: 'header:X Api Key' }, `such as 'header:x-api-key'`],
    ['a header with a space before it', { quota: perMinute(1), key: 'header: x-key' }, `such as 'header:x-key'`],
    ['a cost in a header that can be none', { quota: perMinute(1), cost: 'header:a b' }, `such as 'header:a-b'`],
    ['a cookie that can be none', { quota: perMinute(1), key: 'cookie:a;b' }, `such as 'cookie:a-b'`],
    ['a parameter with a space before it', { quota: perMinute(1), key: 'query: q' }, `such as 'query:q'`],
    ['an address with a name', { quota: perMinute(1), key: 'ip:address' }, `write 'ip'`],
    ['a path with a name', { quota: perMinute(1), key: 'path:/login' }, `write 'path'`],
    [
      'a match by a header that can be none',
      { quota: perMinute(1), match: { header: { 'X Key': true } } },
      `such as 'header:x-key'`,
    ],
    ['a match by an address that is unset', { quota: perMinute(1), match: { ip: undefined } }, 'match.ip is undefined'],
    [
      'an exception by an address that is unset, which would be one for all',
      { quota: perMinute(1), skip: { path: '/metrics', ip: undefined } },
      'skip.ip is undefined',
    ],
    [
      'a switch that is text',
      { quota: perMinute(1), exposeHeaders: 'no' },
      'exposeHeaders must be true or false; got "no".',
    ],
    ['another', { quota: perMinute(1), countPreflight: 0 }, 'countPreflight must be true or false; got 0.'],
    ['a cost in a list', { quota: perMinute(1), cost: ['header:x-cost'] }, 'cost must be a whole number'],
    ['a store that is null', { quota: perMinute(1), store: null }, 'rateLimit store is null. Give it a value'],
    ['no selectors', { quota: perMinute(1), key: [] }, 'a selector, a list of them or a function'],
    ['an unknown cost', { quota: perMinute(1), cost: 'body:weight' }, "'header:NAME', 'query:NAME' or a function"],
    ['a cost of 0', { quota: perMinute(1), cost: 0 }, 'cost must be a whole number'],
    ['a default cost of text', { quota: perMinute(1), defaultCost: '1' }, 'defaultCost must be a whole number'],
    ['a fractional maximum', { quota: perMinute(1), maxCost: 1.5 }, 'maxCost must be a whole number'],
    // Each request cost 1, and 5: the limit was another than the one that is written.
    [
      'a default cost without a cost',
      { quota: perMinute(9), defaultCost: 5 },
      'defaultCost is 5, but every request costs 1. Write cost: 5, or leave out defaultCost. [',
    ],
    [
      'a cost above the maximum',
      { quota: perMinute(9), cost: 8, maxCost: 5 },
      'maxCost is 5, but every request costs 8. Write cost: 5, or leave out maxCost. [',
    ],
    ['unknown headers', { quota: perMinute(1), headers: 'draft-99' }, 'draft-99'],
    ['a tiny prefix', { quota: perMinute(1), ipv6Prefix: 8 }, 'ipv6Prefix must be 32 to 128 bits'],
    ['an unknown unit', { quota: perMinute(1), unit: 'bytes' }, `unit must be 'requests', 'content-bytes' or`],
    ['a partition of text', { quota: perMinute(1), partition: 'ann' }, 'partition must be a function'],
    ['a name that is too long', { quota: perMinute(1), name: 'n'.repeat(101) }, '1 to 100 printable ASCII characters'],
    [
      'a policy of the name that a shadow counts under',
      {
        policies: [
          { name: 'a', quota: perMinute(1), mode: 'shadow' },
          { name: 'a (shadow)', quota: perMinute(1) },
        ],
      },
      'two policies are named "a (shadow)"',
    ],
    [
      'a listener that is none',
      { quota: perMinute(1), onDecision: {} },
      'onDecision must be a function; got an object.',
    ],
    ['a correction that is none', { quota: perMinute(1), settle: 5 }, 'settle must be a function; got 5.'],
    ['no policies', { policies: [] }, 'policies is empty'],
    [
      'two policies of one name',
      { policies: [{ quota: perMinute(1) }, { quota: perSecond(1) }] },
      'two policies are named "default"',
    ],
    ['a policy beside policies', { policies: [{ quota: perMinute(1) }], quota: perMinute(1) }, 'no option "quota"'],
  ])('rejects %s and says what to write', (_, options, message) => {
    expect(() => guardOf(options)).toThrow(QuotaError)
    expect(() => guardOf(options)).toThrow(message)
  })

  test('finds a cookie among others by its whole name', () => {
    const guard = guardOf({ quota: perMinute(1), key: 'cookie:sid' })
    const cookies = ['x=1; sid=a', 'sid=a', 'x=1;  sid = b ;y', 'sid=c=d', 'sid=c', 'xsid=a', 'sid', '']
    const statuses = cookies.map((cookie) => evaluate(guard, { headers: { cookie } }).denial?.status ?? 200)
    expect(statuses).toEqual([200, 429, 200, 200, 200, 200, 429, 429])
  })

  // Reproduces a bug: the last letter of a value without a second quote was lost, so that `"abc` and `"abd` were one key. Some
  // parsers lose it, too: a client could choose the key, and have the app read the same value.
  test('finds no value in a cookie with one quote, and unquotes only what has two', () => {
    const sole = (cookie: string): boolean => {
      const guard = guardOf({ quota: perMinute(1), key: 'cookie:sid' })
      evaluate(guard, { headers: { cookie } })
      return evaluate(guard, { headers: { cookie: 'sid=ab' } }).denial === undefined
    }
    expect(['sid="ab"', 'sid= "ab" ;', 'sid="abc ', 'sid="abc', 'sid=ab"', 'sid="'].map(sole)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    const guard = guardOf({ quota: perMinute(1), key: 'cookie:sid' })
    const cookies = ['', 'sid="abc ', 'sid="abd', 'sid="', 'sid=""']
    expect(cookies.map((cookie) => evaluate(guard, { headers: { cookie } }).denial?.status)).toEqual([
      undefined,
      429,
      429,
      429,
      429,
    ])
  })

  test('takes a cost that equals the maximum, and a default beside a fixed cost', () => {
    const options = { quota: perMinute(100), cost: 10, maxCost: 10, defaultCost: 2 }
    expect(evaluate(guardOf(options)).decision?.cost).toBe(10)
    expect(evaluate(guardOf({ quota: perMinute(100), defaultCost: 1 })).decision?.cost).toBe(1)
  })

  test('finds a header however the option spells it', () => {
    const guard = guardOf({ quota: perMinute(100), key: 'header:X-Api-Key', cost: 'header:X-Weight' })
    const from = (user: string) =>
      evaluate(guard, { headers: { 'x-api-key': user, 'x-weight': '7' } }).decision?.remaining
    expect([from('ann'), from('bob'), from('ann')]).toEqual([93, 93, 86])
  })

  test('charges the most for a cost in a header that is too large to count', () => {
    const guard = guardOf({ quota: perMinute(1_000), cost: 'header:weight', defaultCost: 2, maxCost: 10 })
    const weights = ['7', '007', '9'.repeat(15), '9'.repeat(16), '9'.repeat(400), '0'.repeat(20), '', '1e9', '٣']
    const costs = weights.map((weight) => evaluate(guard, { headers: { weight } }).decision?.cost)
    expect(costs).toEqual([7, 7, 10, 10, 10, 2, 2, 10, 2])
  })

  test('rejects a key that is no text, rather than count all as one', () => {
    expect(() => evaluate(guardOf({ quota: perMinute(1), key: () => 42 }))).toThrow('Write String(…)')
  })

  test('bounds what a cost function returns, and rounds it up: an estimate of tokens is seldom whole', () => {
    const costs = [3, 0.1, 8.5, 99, 1e300, Infinity]
    let i = 0
    const guard = guardOf({ quota: perMinute(1_000), cost: () => costs[i++], maxCost: 10 })
    expect(costs.map(() => evaluate(guard).decision?.cost)).toEqual([3, 1, 9, 10, 10, 10])
  })

  test('counts a path once, however it is spelt', () => {
    const guard = guardOf({ quota: perMinute(1), key: 'path' })
    const ways = ['/a/b', '/A/b/', '//a//b', '/%61/b', '/a/c', '/', '', '/%zz', '/%ZZ']
    const statuses = ways.map((path) => evaluate(guard, { path }).denial?.status ?? 200)
    expect(statuses).toEqual([200, 429, 429, 429, 200, 200, 429, 200, 429])
  })

  // Row 25 of the peers' bugs: parts of a key that are put together without a sign between them.
  test('keeps every list of key parts apart', () => {
    const guard = guardOf({ quota: perMinute(1), key: ['header:a', 'header:b'] })
    const seen = new Set<string>()
    const part = fc.string({ unit: fc.constantFrom('1', ':', 'x'), maxLength: 4 })
    fc.assert(
      fc.property(part, part, (a, b) => {
        const name = JSON.stringify([a, b])
        const fresh = !seen.has(name)
        seen.add(name)
        expect(evaluate(guard, { headers: { a, b } }).decision?.allowed).toBe(fresh)
      }),
    )
  })
})
