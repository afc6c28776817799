import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test, vi } from 'vitest'
import { httpGuard, inNetworks, type MatchOption, type RateLimitOptions } from '../src/http/index.ts'
import { penalty, perMinute } from '../src/index.ts'
import { type FakeRequest, reader, setUp } from './fake-request.ts'

const quota = perMinute(100)
type Option = MatchOption<FakeRequest>

const matches = async (option: 'match' | 'skip', list: Option, request: FakeRequest): Promise<boolean> => {
  const { guard } = setUp({ quota, [option]: list })
  const isCounted = (await guard({ ...request })).decision !== undefined
  return option === 'match' ? isCounted : !isCounted
}

describe.each(['match', 'skip'] as const)('a list of %s', (option) => {
  const list: Option = [
    { path: '/login', method: 'POST' },
    { ip: '10.0.0.0/8' },
    ({ headers }) => headers?.['x-a'] === '1',
    async ({ headers }) => headers?.['x-b'] === '1',
    { header: { 'x-c': true } },
  ]

  test.each<[FakeRequest, boolean]>([
    [{}, false],
    [{ path: '/login' }, false],
    [{ path: '/login', method: 'POST' }, true],
    [{ ip: '10.1.2.3' }, true],
    [{ headers: { 'x-a': '1' } }, true],
    [{ headers: { 'x-b': '1' } }, true],
    [{ headers: { 'x-c': '1' } }, true],
    [{ headers: { 'x-a': '2', 'x-b': '2' } }, false],
  ])('holds if one of it holds: %j', async (request, holds) => {
    expect(await matches(option, list, request)).toBe(holds)
  })

  test('calls no function after the one that holds', async () => {
    const later = vi.fn(() => false)
    const first = async ({ method }: FakeRequest): Promise<boolean> => method === 'POST'
    expect(await matches(option, [first, later], { method: 'POST' })).toBe(true)
    expect(await matches(option, [{ method: 'POST' }, later], { method: 'POST' })).toBe(true)
    expect(later).not.toHaveBeenCalled()
    expect(await matches(option, [first, later], {})).toBe(false)
    expect(later).toHaveBeenCalledOnce()
  })

  test('fails with a function that fails', async () => {
    const fails = async (): Promise<boolean> => Promise.reject(new Error('no plan'))
    await expect(matches(option, [{ method: 'POST' }, fails], {})).rejects.toThrow('no plan')
    await expect(matches(option, [() => 1 as never], {})).rejects.toThrow('must return true or false; got 1')
  })

  test('of thousands is tried without recursion', async () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ method: i === 19_999 ? 'POST' : 'PUT' }))
    expect([await matches(option, many, { method: 'POST' }), await matches(option, many, {})]).toEqual([true, false])
  })

  test.each<[unknown, string]>([
    [[], `${option} is an empty list`],
    [
      ['/login'],
      `${option} must be an object such as { path: '/login' }, a function, or a list of these; got "/login".`,
    ],
    [[undefined], `${option} must be an object`],
    [new Array(1), `${option} must be an object`],
    [[[{ path: '/login' }]], `${option} must be an object`],
    [[{ path: '/login' }, {}], `${option} is empty`],
    [[{ path: '/login' }, { paths: '/' }], `${option} has no option "paths"`],
  ])('cannot be %j', (value, error) => {
    expect(() => setUp({ quota, [option]: value })).toThrow(error)
  })
})

test('a tier whose list of matches another one covers counts no request', () => {
  const tiers = { tiers: 'plan', quota } as const
  const build = (first: Option, second: Option) =>
    setUp({
      policies: [
        { ...tiers, name: 'first', match: first },
        { ...tiers, name: 'second', match: second },
      ],
    })
  expect(() => build([{ path: '/a/*' }, { path: '/b' }], [{ path: '/a/x' }, { path: '/b' }])).toThrow(
    'counts no request',
  )
  expect(() => build([{ path: '/a/*' }, { path: '/b' }], [{ path: '/a/x' }, { path: '/c' }])).not.toThrow()
})

test('a path with an empty parameter is one of a list, for tiers too', async () => {
  const lenient = { ...reader, hasEmptyParameters: () => true }
  const options: RateLimitOptions<FakeRequest> = {
    store: modelStore(fakeClock()),
    policies: [
      { name: 'user', tiers: 'route', quota, match: [{ path: '/other' }, { path: '/users/:id' }] },
      { name: 'rest', tiers: 'route', quota },
    ],
  }
  const guard = httpGuard(options, lenient)
  expect((await guard({ path: '/users/' })).decision?.policy).toBe('user')
  expect((await guard({ path: '/x' })).decision?.policy).toBe('rest')
})

test('two limiters of one name that differ in a function of a list do not start', () => {
  const store = modelStore(fakeClock())
  const build = (match: Option) => httpGuard({ quota, store, match }, reader)
  build([{ path: '/a' }, ({ method }) => method === 'PUT'])
  expect(() => build([{ path: '/a' }, ({ method }) => method === 'POST'])).toThrow('differ in match')
})

describe('inNetworks', () => {
  test('reports whether an address is in one of the networks', () => {
    const isInternal = inNetworks(['10.0.0.0/8', '2001:db8::7'])
    const inside = ['10.0.0.1', '::ffff:10.1.1.1', '2001:db8::7', '64:ff9b::10.0.0.1']
    expect(inside.map(isInternal)).toEqual([true, true, true, true])
    const outside = ['11.0.0.1', '2001:db8::8', 'localhost', '', undefined]
    expect(outside.map(isInternal)).toEqual([false, false, false, false, false])
    expect(inNetworks('::1')('::1')).toBe(true)
  })

  test.each(['10.0.0.0/33', 'office', '', 7, null, [undefined]])('refuses %j', (network) => {
    expect(() => inNetworks(network as string)).toThrow('inNetworks lists addresses and networks')
  })

  // It was never true, in silence: match and skip refuse an empty list.
  test('refuses an empty list', () => {
    expect(() => inNetworks([])).toThrow('List one, or leave the test out')
  })
})

describe('refundIf', () => {
  test.each<[NonNullable<RateLimitOptions<FakeRequest>['refundIf']>, readonly number[], readonly number[]]>([
    [
      [502, 503],
      [502, 503],
      [200, 500, 504],
    ],
    [(status) => status >= 500, [500, 503], [200, 404]],
    [async (status) => status === 304, [304], [200]],
  ])('takes statuses: %o', async (refundIf, refunded, counted) => {
    const left = async (status: number): Promise<number> => {
      const { guard, evaluate } = setUp({ quota, key: () => 'ann', refundIf })
      await evaluate().after?.(status, { tokens: 1 })
      return (await guard.byKey.peek('ann')).remaining
    }
    for (const status of refunded) expect([status, await left(status)]).toEqual([status, 100])
    for (const status of counted) expect([status, await left(status)]).toEqual([status, 99])
  })

  test.each([[[]], [[99]], [[600]], [[500.5]], [['500']], [500], ['5xx'], [{}], [[500, undefined]], [[Number.NaN]]])(
    'cannot be %j, and neither can countIf',
    (statuses) => {
      for (const option of ['refundIf', 'countIf']) {
        expect(() => setUp({ quota, [option]: statuses })).toThrow(`${option} must be a list of statuses such as [`)
      }
    },
  )

  test('takes the first status and the last', async () => {
    expect(() => setUp({ quota, refundIf: [100, 599], countIf: [100, 599] })).not.toThrow()
  })
})

describe('onDecision', () => {
  const eventsOf = async (options: object, request: FakeRequest = {}) => {
    const events: unknown[] = []
    const onDecision = ({ decision, key, mode }: { decision: { policy: string }; key: string; mode: string }) =>
      events.push([decision.policy, key, mode])
    const { guard } = setUp({ onDecision, ...('policies' in options ? {} : { quota }), ...options } as object)
    await guard({ ...request })
    return { guard, events }
  }

  test('gets the key of the policy that decides', async () => {
    expect((await eventsOf({}, { ip: '192.0.2.1' })).events).toEqual([['default', '192.0.2.1', 'enforce']])
    const policies = [
      { name: 'many', quota: perMinute(100), key: () => 'a' },
      { name: 'few', quota: perMinute(2), key: async () => 'b' },
      { name: 'watched', quota, key: () => 'c', mode: 'shadow' },
    ]
    expect((await eventsOf({ policies })).events).toEqual([
      ['watched (shadow)', 'c', 'shadow'],
      ['few', 'b', 'enforce'],
    ])
  })

  test('gets the key of a policy that others spill over to, and of a block', async () => {
    const policies = [
      { name: 'small', quota: perMinute(1), key: () => 'a', spill: 'reserve' },
      { name: 'reserve', quota: perMinute(1), key: () => 'b' },
    ]
    const { guard, events } = await eventsOf({ policies })
    for (let i = 0; i < 2; i++) await guard({})
    expect(events.map((event) => (event as string[])[1])).toEqual(['a', 'b', expect.stringMatching(/^[ab]$/)])
    const blocked = await eventsOf({ blocks: true, key: () => 'ann' })
    await blocked.guard.byKey.block('ann', '1h')
    await blocked.guard({})
    expect(blocked.events.at(-1)).toEqual(['default (blocked)', 'ann', 'enforce'])
    const punished = await eventsOf({ quota: penalty({ after: 1, within: '1m', block: '1h' }), key: () => 'ann' })
    await punished.guard({})
    expect(punished.events.at(-1)).toEqual(['default', 'ann', 'enforce'])
  })
})
