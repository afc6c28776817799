import { channel } from 'node:diagnostics_channel'
import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test, vi } from 'vitest'
import { type Denial, httpGuard, type Verdict } from '../src/http/index.ts'
import { perMinute, perSecond, tokenBucket } from '../src/index.ts'
import { type FakeRequest, type FakeResponse, reader, setUp } from './fake-request.ts'

describe('a preflight', () => {
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const left = async (more: Record<string, string>, status: number, options: object = {}): Promise<number> => {
    const { guard, evaluate } = setUp({ quota: perMinute(10), key: () => 'ann', ...options })
    await evaluate({ method: 'OPTIONS', headers: { ...headers, ...more } }).after?.(status, { tokens: 1 })
    return (await guard.byKey.peek('ann')).remaining
  }

  test.each([404, 405])('is refunded if it is answered with %d', async (status) => {
    expect([await left({}, status), await left({ 'content-length': '0' }, status)]).toEqual([10, 10])
    expect(await left({}, status, { countPreflight: true })).toBe(9)
  })

  test('is counted if a handler answers it, unless refundIf refunds it', async () => {
    expect([await left({}, 200), await left({}, 500)]).toEqual([9, 9])
    expect(await left({}, 500, { refundIf: (status: number) => status >= 500 })).toBe(10)
    expect(await left({}, 404, { refundIf: () => false })).toBe(10)
  })

  test('is refunded by shadow policies', async () => {
    const { guard, evaluate } = setUp({ quota: perMinute(10), key: () => 'ann', mode: 'shadow' })
    await evaluate({ method: 'OPTIONS', headers }).after?.(404, { tokens: 1 })
    expect((await guard.byKey.peek('ann', { policy: 'default' })).remaining).toBe(10)
  })

  // A handler for every method would be called for nothing by a request with a body.
  test.each([{ 'content-length': '5' }, { 'content-length': '00' }, { 'transfer-encoding': 'chunked' }])(
    'has no body: %j',
    async (more) => {
      expect(await left(more, 404)).toBe(9)
    },
  )
})

// The first pass marked the request, and the second one was ignored: nothing was counted at all.
test('counts a request that passes it again, if no policy applied before', async () => {
  const logger = { warn: vi.fn() }
  for (const options of [
    { key: ({ user }: FakeRequest) => user?.['id'] as string | undefined },
    { key: async ({ user }: FakeRequest) => user?.['id'] as string | undefined },
    { match: ({ user }: FakeRequest) => user !== undefined },
    { match: { path: '/login' } },
  ]) {
    const { guard } = setUp({ quota: perMinute(1), logger, ...options })
    const statuses: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const request: { -readonly [K in keyof FakeRequest]: FakeRequest[K] } = {}
      expect((await guard(request)).decision).toBeUndefined()
      Object.assign(request, { user: { id: 'ann' }, path: '/login' })
      statuses.push((await guard(request)).denial?.status)
      expect(guard.decisionOf(request)?.allowed).toBe(i === 0)
      expect((await guard(request)).decision).toBeUndefined()
    }
    expect(statuses, JSON.stringify(options)).toEqual([undefined, 429])
  }
  expect(logger.warn).toHaveBeenCalledOnce()
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

  // Reproduces a bug: a request whose key had failed passed uncounted when a handler of errors sent it on.
  test.each([
    [
      'throws',
      (error: Error): string => {
        throw error
      },
    ],
    ['rejects', (error: Error) => Promise.reject<string>(error)],
  ])('counts a request that passes again after its key function %s', async (_, fail) => {
    const failures = [new Error('no database')]
    const key = (): string | Promise<string> => {
      const failure = failures.pop()
      return failure === undefined ? 'ann' : fail(failure)
    }
    const { guard } = setUp({ quota: perMinute(10), key })
    const request = {}
    await expect((async () => guard(request))()).rejects.toThrow('no database')
    expect((await guard(request)).decision?.remaining).toBe(9)
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

  // It said that such a request is always denied, and threw then.
  test.each([Number.NaN, 1e300])('rejects a cost of %d without a warning', (cost) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    expect(() => setUp({ quota: perMinute(10), cost })).toThrow('cost must be a whole number of units')
    expect(warn).not.toHaveBeenCalled()
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
    ['what another limiter takes', { windowMs: 1, max: 5 }, 'Here that is quota: perMinute(100). ['],
    ['a limit of Fastify', { timeWindow: 1, max: 1 }, 'Here that is quota: perMinute(100). ['],
    ['a prefix of another limiter', { quota: perMinute(1), ipv6Subnet: 56 }, 'Here that is ipv6Prefix. ['],
    ['a function of another limiter', { quota: perMinute(1), keyGenerator: () => 'a' }, 'Here that is key. ['],
    // It was called a key, which is no text.
    ['a name of another limiter', { quota: perMinute(1), identifier: 'api' }, 'Here that is name. ['],
    ['a prefix of keys', { quota: perMinute(1), keyPrefix: 'login' }, 'Here that is name. ['],
    ['a namespace', { quota: perMinute(1), namespace: 'login' }, 'Here that is name. ['],
    ['a queue', { quota: perMinute(1), execEvenly: true }, 'Here that is quota: leakyBucket(…). ['],
    ['an insurance', { quota: perMinute(1), insuranceLimiter: {} }, 'Here that is onStoreError. ['],
    ['a message', { quota: perMinute(1), errorMessage: 'slow' }, 'Here that is onDenied. ['],
    ['no headers', { quota: perMinute(1), disableHeader: true }, 'Here that is headers: false. ['],
    ['a property', { quota: perMinute(1), requestPropertyName: 'x' }, 'Here that is always decisionOf(request). ['],
    [
      'an option of another limiter in a policy',
      { policies: [{ name: 'a', windowMs: 1 }] },
      'a policy has no option "windowMs". Here that is quota: perMinute(100). [',
    ],
    [
      'one that a policy does not have',
      { policies: [{ name: 'a', quota: perMinute(1), standardHeaders: true }] },
      'a policy has no option "standardHeaders". It knows name,',
    ],
    [
      'an unknown option',
      { quota: perMinute(1), colour: 1 },
      'name, quota, key, partition, cost, defaultCost, maxCost, match, tiers, blocks',
    ],
    ['an unknown problem', { quota: perMinute(1), problem: 'abuse' }, '\'abnormal-usage-detected\'; got "abuse".'],
    ['a wait that is none', { quota: perMinute(1), maxWait: 'soon' }, 'maxWait must be a positive duration'],
  ])('rejects %s', (_, options, message) => {
    expect(() => setUp(options as never)).toThrow(message)
  })
})
