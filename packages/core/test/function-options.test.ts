import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { ipKey } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { type FakeRequest, forwardingOf, quota, setUp, turn, warn } from './function-options.ts'

const unhandled = unhandledRejections()

/** The ways in which a function says something later. */
const ways: readonly [way: string, later: (value: unknown) => never][] = [
  ['a promise', (value) => Promise.resolve(value) as never],
  ['a thenable of another library', (value) => forwardingOf(value) as never],
  ['a promise of another realm', (value) => runInNewContext('Promise.resolve(value)', { value }) as never],
]

// Such a request waited for ever.
describe('a promise that never settles', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const never = new Promise<never>(() => {})
  const usual: Readonly<Record<string, unknown>> = {
    key: 'ann',
    quota,
    cost: 1,
    skip: false,
    match: true,
    partition: new Uint8Array(1),
  }

  test.each([...Object.keys(usual), 'claims'])('of %s fails its request after 10 s, and no other', async (name) => {
    let slow = true
    const { send, left } = setUp({
      quota,
      key: name === 'claims' ? 'claim:sub' : () => 'ann',
      claims: () => ({ sub: 'ann' }),
      [name]: () => (slow ? never : name === 'claims' ? { sub: 'ann' } : usual[name]),
    })
    const outcome = vi.fn()
    void send().then(outcome, outcome)
    slow = false
    expect((await send()).denial).toBeUndefined()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(outcome).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(outcome).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({
        code: 'ERR_SPILLWAY_OPTION',
        message: expect.stringContaining(`the promise that ${name} returned has not settled for 10 s.`),
      }),
    )
    expect([await left('ann'), unhandled]).toEqual([99, []])
  })

  test.each([...Object.keys(usual), 'claims'])('of %s leaves no timer once it has settled', async (name) => {
    const later = async () => (name === 'claims' ? { sub: 'ann' } : usual[name])
    const failing = () => Promise.reject(new Error('no database'))
    for (const option of [later, failing]) {
      const { send } = setUp({ quota, key: name === 'claims' ? 'claim:sub' : () => 'ann', [name]: option })
      const outcome = await send().catch((error: Error) => error.message)
      expect(outcome).toEqual(option === later ? expect.objectContaining({ denial: undefined }) : 'no database')
    }
    expect([vi.getTimerCount(), unhandled]).toEqual([0, []])
  })

  test('fails no request whose client has disconnected meanwhile, and is not unhandled', async () => {
    const gone = new Set<() => void>()
    const { send } = setUp({ quota, key: () => never })
    const verdict = send({ gone })
    for (const leave of gone) leave()
    expect((await verdict).denial?.status).toBe(499)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(unhandled).toEqual([])
  })
})

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

test('a shadow policy counts when its functions have answered', async () => {
  const { send, left } = setUp({ quota, mode: 'shadow', key: async () => 'k', cost: async () => 3 })
  expect((await send()).decision).toBeUndefined()
  await turn()
  expect(await left('k', 'default (shadow)')).toBe(97)
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
