import { channel } from 'node:diagnostics_channel'
import { type FakeClock, fakeClock, modelStore } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type DecisionEvent,
  type Denial,
  httpGuard,
  type RateLimitOptions,
  type RequestReader,
  type Verdict,
} from '../src/http/index.ts'
import { leakyBucket, perMinute, perSecond, QuotaError, type Store, slidingLog, tokenBucket } from '../src/index.ts'

interface FakeRequest {
  readonly ip?: string
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly user?: Record<string, unknown>
  readonly gone?: Set<() => void>
}

const reader: RequestReader<FakeRequest> = {
  address: ({ ip = '203.0.113.7' }) => ip,
  peer: ({ ip = '203.0.113.7' }) => ip,
  method: ({ method = 'GET' }) => method,
  path: ({ path = '/' }) => path,
  header: ({ headers }, name) => headers?.[name],
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: ({ gone }, listener) => {
    gone?.add(listener)
    return () => gone?.delete(listener)
  },
}

/** What a handler of these tests answers with: what the request really cost. */
interface FakeResponse {
  readonly tokens: number
}

function setUp(options: Partial<RateLimitOptions<FakeRequest, FakeResponse>>, clock: FakeClock = fakeClock()) {
  const store = modelStore(clock)
  const guard = httpGuard(
    { store, ...options } as RateLimitOptions<FakeRequest, FakeResponse> & { store: Store },
    reader,
  )
  const evaluate = (request: FakeRequest = {}): Verdict<FakeResponse> => {
    const verdict = guard({ ...request })
    if (verdict instanceof Promise) throw new Error('a store in this process answers at once')
    return verdict
  }
  return { clock, guard, evaluate, store, status: (request?: FakeRequest) => evaluate(request).denial?.status ?? 200 }
}

afterEach(() => {
  vi.useRealTimers()
})

// A handler for every method would be reached uncounted by a request with a body.
test('what has a body is no preflight', () => {
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const { evaluate } = setUp({ quota: perMinute(100) })
  const isCounted = (headers: Record<string, string>) => evaluate({ method: 'OPTIONS', headers }).decision !== undefined
  expect([{}, { 'content-length': '0' }].map((more) => isCounted({ ...preflight, ...more }))).toEqual([false, false])
  expect(
    [{ 'content-length': '5' }, { 'content-length': '00' }, { 'transfer-encoding': 'chunked' }].map((more) =>
      isCounted({ ...preflight, ...more }),
    ),
  ).toEqual([true, true, true])
})

describe('a match', () => {
  test.each<[string, RateLimitOptions<FakeRequest>['match'], FakeRequest[], FakeRequest[]]>([
    ['a method', { method: 'post' }, [{ method: 'POST' }], [{ method: 'GET' }, { method: 'HEAD' }]],
    ['GET, and HEAD, which runs its handler', { method: 'GET' }, [{}, { method: 'HEAD' }], [{ method: 'POST' }]],
    ['one of several methods', { method: ['PUT', 'DELETE'] }, [{ method: 'PUT' }, { method: 'DELETE' }], [{}]],
    ['a path', { path: '/login' }, [{ path: '/login' }], [{ path: '/' }, { path: '/login/x' }, { path: '/loginx' }]],
    // Another spelling of an address must be no way around its policy.
    ['its other spellings', { path: '/login' }, [{ path: '/LOGIN' }, { path: '//login/' }, { path: '/%6cogin' }], []],
    ['a path that is not decodable', { path: '/%25zz' }, [{ path: '/%zz' }], [{ path: '/' }]],
    [
      'everything below',
      { path: '/api/*' },
      [{ path: '/api' }, { path: '/api/a/b' }],
      [{ path: '/apix' }, { path: '/' }],
    ],
    ['everything', { path: '/*' }, [{ path: '/' }, { path: '/a' }], []],
    ['any one segment', { path: '/users/:id/posts' }, [{ path: '/users/7/posts' }], [{ path: '/users/posts' }]],
    [
      'one segment or more',
      { path: '/users/:id/*' },
      [{ path: '/users/7' }, { path: '/users/7/x' }],
      [{ path: '/users' }],
    ],
    ['one of several paths', { path: ['/a', '/b'] }, [{ path: '/a' }, { path: '/b' }], [{ path: '/c' }]],
    [
      'a header',
      { header: { 'X-Beta': 'yes' } },
      [{ headers: { 'x-beta': 'yes' } }],
      [{}, { headers: { 'x-beta': 'no' } }],
    ],
    ['any value of a header', { header: { via: true } }, [{ headers: { via: 'x' } }], [{ headers: { via: '' } }, {}]],
    ['an address', { ip: ['10.0.0.0/8', '203.0.113.7'] }, [{}, { ip: '10.1.2.3' }], [{ ip: '203.0.113.8' }]],
    [
      'an address of either family, however it is written',
      { ip: ['2001:db8::/32', '10.0.0.1'] },
      [{ ip: '2001:0DB8:1::%eth0' }, { ip: '::ffff:10.0.0.1' }],
      [{ ip: '2001:db9::1' }, { ip: '::ffff:10.0.0.2' }, { ip: '10.0.0.1.evil' }, { ip: '' }],
    ],
    ['a claim', { claim: { plan: 'pro' } }, [{ user: { plan: 'pro' } }], [{ user: { plan: 'free' } }, {}]],
    ['no inherited claim', { claim: { plan: 'pro' } }, [], [{ user: Object.create({ plan: 'pro' }) }]],
    [
      'all of it together',
      { method: 'GET', path: '/a' },
      [{ path: '/a' }],
      [{ path: '/a', method: 'POST' }, { path: '/b' }],
    ],
    ['what a function says', ({ path }) => path === '/x', [{ path: '/x' }], [{ path: '/y' }]],
  ])('holds for %s and nothing else', (_, match, inside, outside) => {
    const { evaluate } = setUp({ quota: perMinute(100), match: match as never, claims: ({ user }) => user })
    for (const request of inside) expect(evaluate(request).decision, JSON.stringify(request)).toBeDefined()
    for (const request of outside) expect(evaluate(request).decision, JSON.stringify(request)).toBeUndefined()
  })

  test.each([
    [{ methods: 'GET' }, 'Did you mean "method"?'],
    [{ path: 5 }, 'match.path must be text or a list of it; got 5.'],
    [{ method: [] }, 'match.method must be text or a list of it; got an empty list.'],
    [{ ip: [] }, 'match.ip must be text or a list of it; got an empty list.'],
    [{ ip: '10.0.0.0/33' }, "match.ip lists addresses and networks such as '10.0.0.0/8' or '::1'; got"],
    [
      { header: 'x-beta' },
      `match.header must be an object with the required value of each name, such as { name: 'value' }; got "x-beta".`,
    ],
    [{ header: { 'x-beta': false } }, 'got false for "x-beta".'],
    [{ claim: ['plan'] }, 'match.claim must be an object with the required value of each name'],
    [{ claim: { plan: 'pro' } }, 'match.claim needs claims that the app has verified'],
    [{}, 'match is empty: add a condition, or leave it out.'],
  ])('written as %j is rejected', (match, message) => {
    expect(() => setUp({ quota: perMinute(1), match: match as never })).toThrow(message)
  })
})

describe('skip', () => {
  test('allows an allow list, uncounted, and denies the others', () => {
    const { evaluate } = setUp({ quota: perMinute(1), skip: { ip: ['10.0.0.0/8', '2001:db8::/48'] } })
    for (const ip of ['10.0.0.1', '10.255.0.1', '2001:db8::1', '::ffff:10.0.0.1']) {
      expect([evaluate({ ip }), evaluate({ ip })].map(({ decision }) => decision)).toEqual([undefined, undefined])
    }
    expect([evaluate(), evaluate()].map(({ denial }) => denial?.status)).toEqual([undefined, 429])
  })

  test('goes by the address that is counted, as trusted as that is', () => {
    const { evaluate } = setUp({ quota: perMinute(1), trustProxy: 1, skip: { ip: '198.51.100.1' } })
    const by = (forwarded: string) => evaluate({ headers: { 'x-forwarded-for': forwarded } }).decision
    expect(by('198.51.100.1')).toBeUndefined()
    expect(by('198.51.100.1, 203.0.113.9')).toBeDefined()
  })

  // An empty one would let everything through.
  test('that says nothing is rejected', () => {
    expect(() => setUp({ quota: perMinute(1), skip: {} })).toThrow('skip is empty')
    expect(() => setUp({ quota: perMinute(1), skip: { ips: '10.0.0.1' } as never })).toThrow('Did you mean "ip"?')
  })
})

describe('tiers', () => {
  test('by function: a user who changes plan keeps the used share', () => {
    const tiers = { free: perMinute(10), pro: perMinute(100) }
    const { evaluate } = setUp({ quota: ({ user }) => (user?.['plan'] === 'pro' ? tiers.pro : tiers.free) })
    for (let i = 0; i < 5; i++) evaluate()
    expect(evaluate({ user: { plan: 'pro' } }).headers[1]).toEqual(['RateLimit', '"default";r=49;t=1'])
    expect(evaluate({ user: { plan: 'pro' } }).headers[0]).toEqual(['RateLimit-Policy', '"default";q=100;w=60'])
  })

  test('by rule: each plan has a policy of its own', () => {
    const { evaluate } = setUp({
      claims: ({ user }) => user,
      policies: [
        { name: 'enterprise', quota: perSecond(1000), key: 'claim:org', match: { claim: { plan: 'enterprise' } } },
        { name: 'free', quota: perSecond(10), key: 'claim:org', match: { claim: { plan: 'free' } } },
      ],
    })
    expect(evaluate({ user: { plan: 'enterprise', org: 1 } }).decision).toMatchObject({
      policy: 'enterprise',
      limit: 1000,
    })
    expect(evaluate({ user: { plan: 'free', org: 2 } }).decision).toMatchObject({ policy: 'free', limit: 10 })
    expect(evaluate().decision).toBeUndefined()
  })

  test('need verified claims', () => {
    expect(() => setUp({ quota: perMinute(1), key: 'claim:sub' })).toThrow('needs claims that the app has verified')
  })
})

describe('a shadow policy', () => {
  test('counts and reports, never denies, and does not affect the enforced ones', () => {
    const events: DecisionEvent<FakeRequest>[] = []
    const { evaluate } = setUp({
      policies: [
        { name: 'live', quota: perMinute(3) },
        { name: 'planned', quota: perMinute(1), mode: 'shadow' },
      ],
      onDecision: (event) => events.push(event),
    })
    const verdicts = [evaluate(), evaluate()]
    expect(verdicts.map(({ denial }) => denial)).toEqual([undefined, undefined])
    expect(verdicts[1]?.headers[0]).toEqual(['RateLimit-Policy', '"live";q=3;w=60'])
    expect(events.map(({ mode, decision }) => [mode, decision.policy, decision.allowed, decision.remaining])).toEqual([
      ['shadow', 'planned (shadow)', true, 0],
      ['enforce', 'live', true, 2],
      ['shadow', 'planned (shadow)', false, 0],
      ['enforce', 'live', true, 1],
    ])
  })

  test('has a state of its own: enforcing it later starts afresh', () => {
    const { guard, evaluate } = setUp({ quota: perMinute(1), mode: 'shadow' })
    evaluate()
    guard.replace([{ quota: perMinute(1) }])
    expect([evaluate().denial?.status, evaluate().denial?.status]).toEqual([undefined, 429])
  })

  test('may have the longest name there is', () => {
    const { evaluate } = setUp({ quota: perMinute(1), mode: 'shadow', name: 'n'.repeat(100) })
    expect([evaluate(), evaluate()].map(({ denial }) => denial)).toEqual([undefined, undefined])
  })

  test('that fails affects no request', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store: Store = { take: () => Promise.reject(new Error('down')), delete: () => Promise.resolve(0) }
    const { evaluate } = setUp({ quota: perMinute(1), mode: 'shadow', store, onStoreError: 'throw' })
    expect(evaluate().denial).toBeUndefined()
    await vi.waitFor(() =>
      expect(warn).toHaveBeenCalledWith(
        expect.stringContaining('a shadow policy failed; requests are not affected: The store failed: down.'),
      ),
    )
  })
})

describe('what a request took is corrected', () => {
  const left = ({ evaluate }: ReturnType<typeof setUp>) => (evaluate().decision?.remaining ?? Number.NaN) + 1

  test('by the app, once', async () => {
    const limit = setUp({ quota: perMinute(10), cost: ({ headers }) => Number(headers?.['cost'] ?? 1) })
    const { decision } = limit.evaluate({ headers: { cost: '6' } })
    await decision?.settle(2)
    await decision?.settle(0)
    expect(left(limit)).toBe(8)
  })

  test('upwards, into debt', async () => {
    const limit = setUp({ quota: perMinute(10) })
    await limit.evaluate().decision?.settle(15)
    expect(limit.evaluate().decision).toMatchObject({ allowed: false, retryAfterMs: 36_000 })
  })

  test('upwards as far as can be counted', async () => {
    const limit = setUp({ quota: perMinute(10) })
    await limit.evaluate().decision?.settle(Number.MAX_SAFE_INTEGER)
    // 95 years, and what of it a request must wait for.
    expect(limit.evaluate().decision?.resetAfterMs).toBe(3e12 + 6_000)
  })

  test('of the policy that is named, where there are several', async () => {
    const { evaluate } = setUp({
      policies: [
        { name: 'requests', quota: perMinute(10) },
        { name: 'tokens', quota: perMinute(1000), cost: 500 },
      ],
    })
    const { decision } = evaluate()
    await expect(decision?.settle(20)).rejects.toThrow('must name one of "requests", "tokens"; got undefined')
    await decision?.settle(20, 'tokens')
    expect(evaluate().decision?.policies?.map(({ remaining }) => remaining)).toEqual([8, 480])
  })

  test('by what the response says', async () => {
    const limit = setUp({ quota: perMinute(1000), cost: 600, settle: ({ tokens }) => tokens })
    await limit.evaluate().after?.(200, { tokens: 250 })
    expect(limit.evaluate().decision?.remaining).toBe(150)
  })

  // Row 40 of the peers' bugs, which they get right: count first, give back later, so that a crowd cannot slip in.
  test('by its status: 30 wrong logins at once are 5 attempts, and a right one costs nothing', async () => {
    const { evaluate } = setUp({ quota: perMinute(5), refundIf: (status) => status < 400 })
    const crowd = Array.from({ length: 30 }, () => evaluate())
    expect(crowd.filter(({ denial }) => denial === undefined)).toHaveLength(5)
    await crowd[0]?.after?.(200, { tokens: 0 })
    expect([evaluate().denial?.status, evaluate().denial?.status]).toEqual([undefined, 429])
  })

  test('not at all where nothing depends on the response', () => {
    expect(setUp({ quota: perMinute(1) }).evaluate().after).toBeUndefined()
    expect(setUp({ quota: perMinute(1), mode: 'shadow' }).evaluate().after).toBeUndefined()
  })

  test('not at all where nothing was counted, or the request is denied', () => {
    const { evaluate } = setUp({ quota: perMinute(1), refundIf: () => true, match: { path: '/' } })
    const verdicts = [evaluate({ path: '/other' }), evaluate(), evaluate()]
    expect(verdicts.map(({ after }) => after && 'later')).toEqual([undefined, 'later', undefined])
  })

  test('never twice: units that have refilled are not refunded', async () => {
    const { clock, evaluate } = setUp({ quota: perMinute(10), cost: 10 })
    const { decision } = evaluate()
    clock.advance(60_000)
    evaluate()
    await decision?.settle(0)
    expect(evaluate().denial?.status).toBe(429)
  })

  test('a cost that makes no sense changes nothing, and is reported', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { evaluate } = setUp({ quota: perMinute(10), settle: () => Number.NaN })
    const verdict = evaluate()
    await expect(verdict.decision?.settle(-1)).rejects.toThrow(QuotaError)
    await verdict.after?.(200, { tokens: 1 })
    expect(evaluate().decision?.remaining).toBe(8)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('got NaN'))
  })
})

describe('a request that is held back', () => {
  test('is allowed at its turn, one after another', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 2 }) })
    const order: string[] = []
    const send = async (name: string) => order.push(`${name}: ${(await guard({ path: name })).denial?.status ?? 200}`)
    for (const name of ['a', 'b', 'c', 'd']) void send(name)
    await vi.advanceTimersByTimeAsync(99)
    expect(order).toEqual(['a: 200', 'd: 429'])
    await vi.advanceTimersByTimeAsync(1)
    expect(order.slice(2)).toEqual(['b: 200'])
    await vi.advanceTimersByTimeAsync(100)
    expect(order.slice(3)).toEqual(['c: 200'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits no longer than maxWait: what does not fit by then is denied at once', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: perSecond(1), maxWait: '1s' })
    const verdicts = Promise.all([guard({}), guard({}), guard({})])
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await verdicts).map(({ denial }) => denial?.status)).toEqual([undefined, undefined, 429])
  })

  // Ten in line, five hang up, five come: two used to go ahead at once, because turns were given out again on which
  // later requests still stood.
  test('keeps to the rate when clients in line go away and others come', async () => {
    vi.useFakeTimers({ now: 0 })
    const clock = fakeClock()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 10 }) }, clock)
    const advance = async (millis: number) => {
      clock.advance(millis)
      await vi.advanceTimersByTimeAsync(millis)
    }
    const turns: number[] = []
    const send = async (gone: Set<() => void>) => {
      if ((await guard({ gone })).denial === undefined) turns.push(Date.now())
    }
    await guard({})
    const line = Array.from({ length: 10 }, () => new Set<() => void>())
    for (const gone of line) void send(gone)
    await advance(50)
    for (const gone of line.slice(2, 7)) for (const listener of gone) listener()
    await advance(0)
    for (let i = 0; i < 7; i++) void send(new Set())
    await advance(0)
    for (let i = 0; i < 20; i++) await advance(50)
    expect(turns).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000])
  })

  test('leaves the queue when its client goes away, and gives its place to the next', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 1 }) })
    const gone = new Set<() => void>()
    await guard({})
    const held = guard({ gone })
    expect((await guard({})).denial?.status).toBe(429)
    for (const listener of gone) listener()
    expect((await held).denial).toMatchObject({ status: 499, body: '' })
    expect([gone.size, vi.getTimerCount()]).toEqual([0, 0])
    const next = guard({})
    await vi.advanceTimersByTimeAsync(100)
    expect((await next).denial).toBeUndefined()
  })

  // A window cannot book a turn: maxWait did nothing there, and what did not fit was denied at once.
  test('in a window, waits in line, and leaves it without a trace when its client goes away', async () => {
    vi.useFakeTimers({ now: 0 })
    const clock = fakeClock()
    const { guard } = setUp({ quota: slidingLog({ limit: 1, window: '1s' }), maxWait: '10s' }, clock)
    const served: string[] = []
    const send = async (name: string, gone = new Set<() => void>()) => {
      served.push(`${name} ${(await guard({ gone })).denial?.status ?? 200}@${Date.now()}`)
    }
    const advance = async (millis: number) => {
      clock.advance(millis)
      await vi.advanceTimersByTimeAsync(millis)
    }
    const leaving = [new Set<() => void>(), new Set<() => void>()]
    const all = [send('a'), send('b', leaving[0]), send('c', leaving[1]), send('d')]
    await advance(500)
    // The first in line, which has a timer, and one behind it.
    for (const gone of leaving) for (const listener of gone) listener()
    for (let i = 0; i < 6; i++) await advance(250)
    await Promise.all(all)
    expect(served.toSorted()).toEqual(['a 200@0', 'b 499@500', 'c 499@500', 'd 200@1000'])
    expect([leaving[0]?.size, leaving[1]?.size, vi.getTimerCount()]).toEqual([0, 0, 0])
  })
})

describe('the guard', () => {
  test('counts a request once, however often it comes by, and says so', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { guard } = setUp({ quota: perMinute(10) })
    const request = {}
    expect((guard(request) as Verdict).decision?.remaining).toBe(9)
    expect((guard(request) as Verdict).decision).toBeUndefined()
    expect((guard({}) as Verdict).decision?.remaining).toBe(8)
    expect(warn.mock.calls).toEqual([[expect.stringContaining('ran twice for one request, which was counted once')]])
  })

  test('takes a cost that is known later only', async () => {
    const { guard } = setUp({ quota: perMinute(10), cost: async () => 4, maxCost: 3 })
    expect((await guard({})).decision?.remaining).toBe(7)
  })

  test("answers a denial by the app's handler", () => {
    const { evaluate } = setUp({
      quota: perMinute(1),
      onDenied: (_, { policy }) => ({
        status: 503,
        body: `${policy}: busy`,
        headers: [['X-Reason', 'token_bucket_exceeded']],
      }),
    })
    evaluate()
    expect(evaluate().answer?.(undefined)).toEqual({
      status: 503,
      contentType: 'text/plain; charset=utf-8',
      headers: [['X-Reason', 'token_bucket_exceeded']],
      body: 'default: busy',
    })
  })

  test.each(['per-user', 'say "no"', 'a\\b', '\\"'])('names policy %s in a document that is JSON', (name) => {
    const { evaluate } = setUp({ name, quota: perMinute(1), cost: 1 })
    evaluate()
    const { body = '' } = evaluate().denial ?? {}
    const document = JSON.parse(body)
    expect(document).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: `Policy "${name}" allows this request again in 60 seconds.`,
      'violated-policies': [name],
      'retry-after-ms': 60_000,
    })
    expect(body).toBe(JSON.stringify(document))
  })

  test('answers a denial by the handler of the policy that denies', () => {
    const { evaluate } = setUp({
      policies: [
        { name: 'login', quota: perMinute(1), match: { path: '/login' }, problem: 'abnormal-usage-detected' },
        { name: 'api', quota: perMinute(1), match: { path: '/api' }, onDenied: () => ({ status: 418 }) },
        { name: 'rest', quota: perMinute(1), match: { path: '/' } },
      ],
      onDenied: () => ({ contentType: 'text/plain' }),
    })
    const denialOf = (path: string) => [evaluate({ path }), evaluate({ path })][1]?.answer?.(undefined) as Denial
    const login = denialOf('/login')
    expect(login).toMatchObject({ status: 429, contentType: 'text/plain' })
    expect(JSON.parse(login?.body ?? '')).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
      title: 'Request not satisfied due to detection of abnormal request pattern',
    })
    expect(denialOf('/api')).toMatchObject({ status: 418, contentType: 'application/problem+json' })
    expect(denialOf('/')).toMatchObject({ status: 429, contentType: 'text/plain' })
  })

  test.each([
    ['maxCost', { maxCost: 11 }],
    ['cost', { cost: 11 }],
    ['defaultCost', { cost: 'header:x-cost', defaultCost: 11 }],
  ] as const)('warns of a %s that its quota never holds', (option, options) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    setUp({ name: option, quota: perMinute(10, { burst: 9 }), ...options })
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining(`never allows more than 9 units at once, but its ${option} is 11`),
    )
    setUp({ name: 'right', quota: tokenBucket({ limit: 10, per: '1m', overdraft: 1 }), ...options })
    expect(warn).toHaveBeenCalledTimes(1)
  })

  test('puts other policies in force without losing counts', () => {
    const { guard, evaluate } = setUp({ quota: perMinute(100) })
    for (let i = 0; i < 60; i++) evaluate()
    guard.replace([{ quota: perMinute(200) }, { name: 'more', quota: perSecond(5) }])
    expect(evaluate().decision?.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['default', 79],
      ['more', 4],
    ])
    expect(() => guard.replace([])).toThrow('policies is empty')
    expect(evaluate().decision?.policies).toHaveLength(2)
  })

  test('publishes to a diagnostics channel, and survives a listener that throws', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const heard: unknown[] = []
    const listen = (message: unknown) => heard.push(message)
    const decisions = channel('spillway:decision')
    decisions.subscribe(listen)
    const { evaluate } = setUp({
      quota: tokenBucket({ limit: 1, per: '1s' }),
      onDecision: () => {
        throw new Error('no ear')
      },
    })
    expect(evaluate().denial).toBeUndefined()
    decisions.unsubscribe(listen)
    evaluate()
    expect(heard).toMatchObject([{ mode: 'enforce', decision: { policy: 'default', allowed: true } }])
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('onDecision threw: no ear'))
  })

  // A getter was ignored: all clients had a limit by their address.
  test('reads options that an instance of a class inherits', () => {
    class Options {
      readonly quota = perMinute(1)
      get key() {
        return 'header:x-api-key' as const
      }
      get onStoreError() {
        return 'never' as never
      }
    }
    const build = () => httpGuard<FakeRequest, FakeResponse>(new Options(), reader, () => modelStore(fakeClock()))
    expect(build).toThrow('onStoreError must be')
    Object.defineProperty(Options.prototype, 'onStoreError', { value: undefined })
    const guard = build()
    const allowed = (key: string) => (guard({ headers: { 'x-api-key': key } }) as Verdict).decision?.allowed
    expect([allowed('a'), allowed('a'), allowed('b')]).toEqual([true, false, true])
  })

  test.each([
    ['an unknown mode', { quota: perMinute(1), mode: 'dry' }, "mode must be 'enforce' or 'shadow'; got \"dry\"."],
    ['an option of a policy misspelt', { policies: [{ name: 'a', quata: perMinute(1) }] }, 'Did you mean "quota"?'],
    ['a policy that is none', { policies: [null] }, 'a policy takes an object of options; got null.'],
    ['a list with a hole', { policies: new Array(1) }, 'options; got undefined.'],
    ['a quota as a policy', { policies: [perMinute(1)] }, 'This is a quota: write { quota: perMinute(100) }.'],
    ['policies that are no list', { policies: { name: 'a', quota: perMinute(1) } }, 'policies must be a list'],
    ['a path alone', { quota: perMinute(1), match: '/login' }, "match must be an object such as { path: '/login' }"],
    [
      'what another limiter takes',
      { windowMs: 1, max: 5 },
      'Here that is quota: perMinute(100); @spillway/express/comp',
    ],
    ['a limit of Fastify', { timeWindow: 1, max: 1 }, 'Here that is quota: perMinute(100);'],
    ['a prefix of another limiter', { quota: perMinute(1), ipv6Subnet: 56 }, 'Here that is ipv6Prefix;'],
    ['a name of another limiter', { quota: perMinute(1), keyGenerator: () => 'a' }, 'Here that is key;'],
    [
      'an unknown option',
      { quota: perMinute(1), colour: 1 },
      'problem, unit, partition, blocks, spill, tiers, store, deadline, onStoreError',
    ],
    ['an unknown problem', { quota: perMinute(1), problem: 'abuse' }, '\'abnormal-usage-detected\'; got "abuse".'],
    ['a wait that is none', { quota: perMinute(1), maxWait: 'soon' }, 'maxWait must be a positive duration'],
  ])('rejects %s', (_, options, message) => {
    expect(() => setUp(options as never)).toThrow(message)
  })
})
