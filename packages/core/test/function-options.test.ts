import { runInNewContext } from 'node:vm'
import { fakeClock, modelStore } from '@spillway/conformance'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { httpGuard, ipKey, type RateLimitOptions, type RequestReader, type Verdict } from '../src/http/index.ts'
import { perMinute, QuotaError, rateLimiter, type Store } from '../src/index.ts'

// Every function option may return a promise or any other thenable, and what it returns is checked.

interface FakeRequest {
  readonly path?: string
  readonly user?: unknown
  readonly gone?: Set<() => void>
}

interface FakeResponse {
  readonly tokens: number
}

type Options = RateLimitOptions<FakeRequest, FakeResponse>

const reader: RequestReader<FakeRequest> = {
  address: () => 'ann',
  peer: () => 'ann',
  method: () => 'GET',
  path: ({ path = '/' }) => path,
  header: () => undefined,
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: ({ gone }, listener) => {
    gone?.add(listener)
    return () => gone?.delete(listener)
  },
}

function setUp(options: Partial<Options>) {
  const store = modelStore(fakeClock())
  const guard = httpGuard({ store, ...options } as Options & { store: Store }, reader)
  /** What is left of 100 units of a policy for a key. */
  const left = async (key: string, name = 'default') =>
    (await rateLimiter({ name, quota: perMinute(100), store }).peek(key)).remaining
  return { guard, left, send: async (request: FakeRequest = {}) => guard({ ...request }) }
}

const quota = perMinute(100)
// biome-ignore lint/suspicious/noThenProperty: it is to be one.
const forwardingOf = (value: unknown) => ({ then: (next: (value: unknown) => void) => next(value) })

/** The ways in which a function says something later. */
const ways: readonly [way: string, later: (value: unknown) => never][] = [
  ['a promise', (value) => Promise.resolve(value) as never],
  ['a thenable of another library', (value) => forwardingOf(value) as never],
  ['a promise of another realm', (value) => runInNewContext('Promise.resolve(value)', { value }) as never],
]

let warn: ReturnType<typeof vi.spyOn>
const unhandled = unhandledRejections()
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})

/** Node reports unhandled rejections when a turn of the event loop is over. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

// What docs/guides/failure.md says of them.
test.each(['key', 'quota', 'cost', 'skip'])(
  'a promise of %s that never settles delays its request alone',
  async (name) => {
    const never = new Promise<never>(() => {})
    const usual = { key: 'ann', quota, cost: 1, skip: false }[name]
    const { send, left } = setUp({ quota, key: () => 'ann', [name]: ({ path }: FakeRequest) => (path ? never : usual) })
    let answered = false
    void send({ path: '/slow' }).then(() => {
      answered = true
    })
    expect((await send()).denial).toBeUndefined()
    await turn()
    expect([answered, await left('ann')]).toEqual([false, 99])
  },
)

// `skip: async () => false` skipped every request, `refundIf: async () => false` refunded all of them, and so on.
describe.each(ways)('an option that returns %s', (_, later) => {
  test('skip: only what it skips is not counted', async () => {
    const { send } = setUp({ quota: perMinute(1), skip: ({ path }) => later(path === '/free') })
    const statuses = [await send(), await send(), await send({ path: '/free' })].map(({ denial }) => denial?.status)
    expect(statuses).toEqual([undefined, 429, undefined])
  })

  test('match: only what it matches is counted', async () => {
    const { send } = setUp({ quota, match: ({ path }) => later(path === '/login') })
    expect((await send()).decision).toBeUndefined()
    expect((await send({ path: '/login' })).decision?.remaining).toBe(99)
  })

  test('key: each has a limit of its own, and undefined is not counted', async () => {
    const { send, left } = setUp({ quota, key: ({ path }) => later(path) })
    await send({ path: 'a' })
    expect([await left('a'), await left('b')]).toEqual([99, 100])
    expect((await send()).decision).toBeUndefined()
  })

  test('quota: the tier that it picks', async () => {
    const { send } = setUp({ quota: ({ path }) => later(path === '/pro' ? quota : perMinute(10)) })
    expect([(await send({ path: '/pro' })).decision?.limit, (await send()).decision?.limit]).toEqual([100, 10])
  })

  test('cost: in whole units, bounded', async () => {
    const { send } = setUp({ quota, cost: ({ path }) => later(Number(path)), maxCost: 20 })
    expect((await send({ path: '7' })).decision?.cost).toBe(7)
    expect((await send({ path: '21' })).decision?.cost).toBe(20)
  })

  test('claims: users are counted separately, and are looked up once for each request', async () => {
    const claims = vi.fn(({ user }: FakeRequest) => later(user))
    const { send, left } = setUp({
      claims,
      skip: { claim: { role: 'admin' } },
      policies: [
        { name: 'user', quota, key: 'claim:sub' },
        { name: 'pair', quota, key: ['claim:sub', 'path'], match: { claim: { plan: 'free' } } },
      ],
    })
    const { decision } = await send({ user: { sub: 'ann', plan: 'free' } })
    expect([decision?.policies?.length, claims.mock.calls.length]).toEqual([2, 1])
    expect((await send({ user: { role: 'admin' } })).decision).toBeUndefined()
    expect([await left('ann', 'user'), await left('bob', 'user'), await left('3:ann1:/', 'pair')]).toEqual([
      99, 100, 99,
    ])
  })

  test('partition: its bytes stand in the headers', async () => {
    const { send } = setUp({ quota, partition: () => later(Uint8Array.of(1)) })
    expect(Object.fromEntries((await send()).headers)['RateLimit-Policy']).toBe('"default";q=100;w=60;pk=:AQ==:')
  })

  test('refundIf and settle: what a request took is corrected as they say', async () => {
    const { send, left } = setUp({
      quota,
      cost: 10,
      refundIf: (status) => later(status >= 500),
      settle: () => later(4),
    })
    await (await send()).after?.(200, { tokens: 0 })
    expect(await left('ann')).toBe(96)
    await (await send()).after?.(500, { tokens: 0 })
    expect(await left('ann')).toBe(96)
  })
})

test('functions are called in one order: skip, then of each policy match, key, quota, partition, cost', async () => {
  for (const later of [(value: unknown) => value as never, ways[0]?.[1] as (value: unknown) => never]) {
    const called: string[] = []
    const says = (name: string, value: unknown) => () => {
      called.push(name)
      return later(value)
    }
    const { send } = setUp({
      skip: says('skip', false),
      quota: says('quota', quota),
      match: says('match', true),
      key: says('key', 'k'),
      cost: says('cost', 1),
      partition: says('partition', Uint8Array.of(1)),
    })
    await send()
    expect(called).toEqual(['skip', 'match', 'key', 'quota', 'partition', 'cost'])
  }
})

test('functions that answer at once are answered to at once', () => {
  const { guard } = setUp({
    claims: () => ({ sub: 'ann' }),
    skip: () => false,
    onDecision: () => {},
    policies: [
      {
        name: 'a',
        quota: () => quota,
        match: () => true,
        key: () => 'k',
        cost: () => 1,
        partition: () => Uint8Array.of(1),
      },
      { name: 'b', quota, match: { claim: { sub: 'ann' } }, key: ['claim:sub', 'ip'], mode: 'shadow' },
    ],
  })
  expect(guard({})).not.toBeInstanceOf(Promise)
})

test('a shadow policy waits for its functions, too', async () => {
  const { send, left } = setUp({ quota, mode: 'shadow', key: async () => 'k', cost: async () => 3 })
  expect((await send()).decision).toBeUndefined()
  expect(await left('k', 'default (shadow)')).toBe(97)
})

describe('a function that fails', () => {
  const failing = async (): Promise<never> => {
    throw new Error('no database')
  }

  test.each(['skip', 'match', 'key', 'quota', 'cost', 'partition', 'claims'])('fails the request: %s', async (name) => {
    for (const fail of [
      failing,
      () => {
        throw new Error('no database')
      },
    ]) {
      const { send, left } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub: 'k' }), [name]: fail })
      await expect(send()).rejects.toThrow('no database')
      expect(await left('k')).toBe(100)
    }
  })

  test('takes nothing of other policies, and no rejection is left unhandled, however many fail', async () => {
    const { send, left } = setUp({
      policies: [
        { name: 'fine', quota },
        { name: 'one', quota, key: failing },
        { name: 'two', quota, cost: failing },
        {
          name: 'three',
          quota,
          key: () => {
            throw new Error('at once')
          },
        },
      ],
    })
    await expect(send()).rejects.toThrow()
    await turn()
    expect([unhandled, await left('ann', 'fine')]).toEqual([[], 100])
  })
})

test.each<[string, () => unknown]>([
  ['a promise', () => Promise.reject(new Error('a'))],
  ['a thenable', () => forwardingOf(Promise.reject(new Error('b')))],
  ['a promise of another realm', () => runInNewContext('Promise.reject(new Error("c"))')],
])('onDecision may return %s: its failure is reported, and affects no request', async (_, onDecision) => {
  const { send } = setUp({ quota, onDecision })
  expect((await send()).denial).toBeUndefined()
  await turn()
  expect(warn).toHaveBeenCalledWith(expect.stringMatching(/onDecision threw: [abc]/))
  expect(unhandled).toEqual([])
})

describe('a function that has not answered when its client goes away', () => {
  test.each(['skip', 'key', 'cost', 'claims'])(
    '%s: the request ends, and takes nothing, whatever comes later',
    async (name) => {
      for (const end of ['resolve', 'reject'] as const) {
        const ends: Record<string, (value: never) => void> = {}
        const promise = new Promise<never>((resolve, reject) => Object.assign(ends, { resolve, reject }))
        const { guard, left } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub: 'k' }), [name]: () => promise })
        const gone = new Set<() => void>()
        const verdict = guard({ gone }) as Promise<Verdict>
        await turn()
        for (const listener of gone) listener()
        expect((await verdict).denial?.status).toBe(499)
        ends[end]?.((name === 'claims' ? { sub: 'k' } : name === 'key' ? 'k' : 1) as never)
        await turn()
        expect([await left('k'), unhandled, gone.size]).toEqual([100, [], 0])
      }
    },
  )
})

// A key function that returned req.ip let a client with a network of 2^64 addresses through as often as it liked.
describe('a key function that returns an address', () => {
  const addresses = Array.from({ length: 200 }, (_, i) => `2001:db8:0:1::${i.toString(16)}`)

  test('counts a network as one client by ipKey, and warns of addresses as they are, once', async () => {
    const { send } = setUp({ quota: perMinute(5), key: ({ path }) => ipKey(path) })
    const answers = await Promise.all(addresses.map((path) => send({ path })))
    expect(answers.filter(({ denial }) => denial === undefined)).toHaveLength(5)
    for (const path of ['198.51.100.7', '::ffff:198.51.100.7', 'user:5', 'a:b', '']) await send({ path })
    expect(warn).not.toHaveBeenCalled()
    const bare = setUp({ quota: perMinute(5), key: ({ path }) => path })
    for (const path of ['198.51.100.7', '::ffff:198.51.100.7', 'user:5', 'fe:ed', '', ipKey('2001:db8::1')]) {
      await bare.send({ path })
    }
    expect(warn).not.toHaveBeenCalled()
    for (const path of addresses) await bare.send({ path })
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Return ipKey(address)')]])
  })
})

describe('what a function returns is checked', () => {
  test.each<[option: string, value: unknown, message: string]>([
    ['cost', Number.NaN, 'cost must return a number of units, more than 0; got NaN.'],
    ['cost', 0, 'got 0.'],
    ['cost', -1, 'got -1.'],
    ['cost', '5', 'got "5".'],
    ['cost', 5n, 'got 5n.'],
    ['cost', {}, 'got an object.'],
    ['cost', undefined, 'got undefined.'],
    ['key', 5, 'key must return a string or undefined; got 5.'],
    ['key', null, 'got null.'],
    [
      'quota',
      100,
      'what the quota function of policy "default" returns must be built by perMinute(100) or one of its siblings; got 100.',
    ],
    ['quota', undefined, 'got undefined.'],
    ['quota', { kernel: 'x' }, 'got an object.'],
    ['match', undefined, 'match must return true or false; got undefined.'],
    ['match', 'yes', 'got "yes".'],
    ['skip', 'yes', 'skip must return true or false; got "yes".'],
    ['skip', {}, 'got an object.'],
    ['claims', 'token', 'claims must return an object, or undefined; got "token".'],
    ['claims', 1, 'got 1.'],
  ])('%s: %s is rejected', async (option, value, message) => {
    for (const say of [() => value, async () => value]) {
      const { send } = setUp({ quota, key: 'claim:sub', claims: () => ({}), [option]: say })
      const error = await send().then(
        () => undefined,
        (error: unknown) => error,
      )
      expect(error).toBeInstanceOf(QuotaError)
      expect((error as Error).message).toContain(message)
    }
  })

  test('what settle returns is rounded up', async () => {
    const { send, left } = setUp({ quota, cost: 50, settle: ({ tokens }) => tokens })
    await (await send()).after?.(200, { tokens: 8.5 })
    expect(await left('ann')).toBe(91)
  })

  test('skip and refundIf may return nothing, which is false: that never turns a limit off', async () => {
    const { send, left } = setUp({ quota, skip: () => undefined as never, refundIf: () => undefined as never })
    await (await send()).after?.(200, { tokens: 0 })
    expect(await left('ann')).toBe(99)
  })

  test('refundIf that returns neither yes nor no refunds nothing, and is reported', async () => {
    const { send, left } = setUp({ quota, refundIf: () => 'yes' as never })
    await (await send()).after?.(200, { tokens: 0 })
    expect(await left('ann')).toBe(99)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('refundIf must return true or false; got "yes".'))
  })
})

test.each([
  ['an object', { id: 1 }],
  ['a list', ['a', 'b']],
  ['a promise', Promise.resolve('ann')],
  ['a function', () => 'ann'],
  ['a symbol', Symbol('ann')],
])('a claim that is %s is no key: all users would have the same', async (_, sub) => {
  const { send } = setUp({ quota, key: 'claim:sub', claims: () => ({ sub }) })
  await expect(send()).rejects.toThrow('claim "sub" must be text, a number, true or false')
})

test('a claim that is undefined is an empty key, as if it was missing', async () => {
  const { send, left } = setUp({ quota, key: ['claim:sub', 'claim:org'], claims: () => ({ sub: undefined, org: 'a' }) })
  await send()
  expect(await left('0:1:a')).toBe(99)
})

test('a getter of a class is no claim: the key would be empty for all users', async () => {
  class User {
    get id(): string {
      return 'ann'
    }
  }
  const claims = () => new User() as unknown as Record<string, unknown>
  await expect(setUp({ quota, key: 'claim:id', claims }).send()).rejects.toThrow('claim "id" is inherited')
  const { send, left } = setUp({ quota, key: ['claim:constructor', 'claim:toString'], claims })
  await send()
  expect(await left('0:0:')).toBe(99)
})
