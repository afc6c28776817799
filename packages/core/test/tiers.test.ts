import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'

interface FakeRequest {
  readonly plan?: string
  readonly later?: boolean
}

type Policy = PolicyOptions<FakeRequest>

function setUp(policies: readonly Policy[]) {
  const options = { policies, store: modelStore(fakeClock()), claims: ({ plan }: FakeRequest) => ({ plan }) }
  const guard = httpGuard<FakeRequest>(options as RateLimitOptions<FakeRequest>, plainReader)
  /** The policies that count a request, with what is left of them. */
  const counting = async (plan?: string, later = false): Promise<readonly (readonly [string, number])[]> => {
    const { decision } = await guard({ ...(plan && { plan }), later })
    return (decision?.policies ?? (decision ? [decision] : [])).map(({ policy, remaining }) => [policy, remaining])
  }
  return { guard, counting }
}

const tier = (name: string, limit: number, options: Partial<Policy> = {}): Policy => ({
  name,
  quota: perMinute(limit),
  tiers: 'plan',
  ...options,
})
const ofPlan = (plan: string): Partial<Policy> => ({ match: { claim: { plan } } })
const PLANS = [tier('enterprise', 1_000, ofPlan('enterprise')), tier('pro', 100, ofPlan('pro')), tier('free', 10)]

describe('of policies that are tiers', () => {
  test('the first that matches counts, and the last is for all others', async () => {
    const { counting } = setUp(PLANS)
    expect(await counting('enterprise')).toEqual([['enterprise', 999]])
    expect(await counting('pro')).toEqual([['pro', 99]])
    expect(await counting('basic')).toEqual([['free', 9]])
    expect(await counting()).toEqual([['free', 8]])
    expect(await counting('enterprise')).toEqual([['enterprise', 998]])
  })

  test('none counts if none matches', async () => {
    const { counting } = setUp(PLANS.slice(0, 2))
    expect(await counting('basic')).toEqual([])
  })

  test('the others of a limiter count beside them, in their order', async () => {
    const { counting } = setUp([
      { name: 'all', quota: perMinute(500) },
      ...PLANS,
      { name: 'day', quota: perMinute(50) },
    ])
    expect(await counting('pro')).toEqual([
      ['all', 499],
      ['pro', 99],
      ['day', 49],
    ])
  })

  test('groups are apart, also if their tiers alternate', async () => {
    const other = (name: string, options: Partial<Policy> = {}) => tier(name, 50, { tiers: 'volume', ...options })
    const { counting } = setUp([
      tier('pro', 100, ofPlan('pro')),
      other('many', ofPlan('pro')),
      tier('free', 10),
      other('few'),
    ])
    expect(await counting('pro')).toEqual([
      ['pro', 99],
      ['many', 49],
    ])
    expect(await counting()).toEqual([
      ['free', 9],
      ['few', 49],
    ])
  })

  test('a match that is a promise is awaited before the next tier is asked', async () => {
    const asked: string[] = []
    const slow = (name: string): Partial<Policy> => ({
      match: async ({ plan, later }) => {
        asked.push(name)
        if (later) await new Promise((resolve) => setImmediate(resolve))
        return plan === name
      },
    })
    const { counting } = setUp([
      tier('enterprise', 1_000, slow('enterprise')),
      tier('pro', 100, slow('pro')),
      tier('free', 10),
    ])
    expect(await counting('pro', true)).toEqual([['pro', 99]])
    expect(await counting('enterprise', true)).toEqual([['enterprise', 999]])
    expect(await counting('basic', true)).toEqual([['free', 9]])
    expect(asked).toEqual(['enterprise', 'pro', 'enterprise', 'enterprise', 'pro'])
  })

  test('one that matches and has no key counts nothing, and no other does', async () => {
    const { counting } = setUp([tier('pro', 100, { ...ofPlan('pro'), key: () => undefined }), tier('free', 10)])
    expect(await counting('pro')).toEqual([])
  })

  test('shadows are tiers among themselves', async () => {
    const shadow = (policy: Policy): Policy => ({ ...policy, name: `new-${policy.name}`, mode: 'shadow' })
    const { guard, counting } = setUp([...PLANS, ...PLANS.map(shadow)])
    expect(await counting('pro')).toEqual([['pro', 99]])
    const events: string[] = []
    const watched = httpGuard<FakeRequest>(
      {
        policies: [...PLANS, ...PLANS.map(shadow)],
        store: modelStore(fakeClock()),
        claims: ({ plan }: FakeRequest) => ({ plan }),
        onDecision: ({ decision, mode }: { decision: { policy: string }; mode: string }) =>
          events.push(`${mode} ${decision.policy}`),
      } as RateLimitOptions<FakeRequest>,
      plainReader,
    )
    await watched({ plan: 'pro' })
    expect(events.sort()).toEqual(['enforce pro', 'shadow new-pro (shadow)'])
    expect(guard.decisionOf({})).toBe(undefined)
  })

  test('one may spill over to a policy that is none', async () => {
    const { counting } = setUp([
      tier('pro', 1, { ...ofPlan('pro'), spill: 'extra' }),
      tier('free', 1),
      { name: 'extra', quota: perMinute(5) },
    ])
    expect(await counting('pro')).toEqual([['pro', 0]])
    expect(await counting('pro')).toEqual([['extra', 4]])
    expect(await counting()).toEqual([['free', 0]])
  })
})

describe('tiers that could not work are an error', () => {
  test.each<[string, readonly Policy[], string]>([
    ['no name', [tier('free', 1, { tiers: '' })], `tiers must be the name of a group, such as 'plan'; got "".`],
    ['a list', [tier('free', 1, { tiers: PLANS as never })], "such as 'plan'; got an array."],
    [
      'a tier behind the one for all',
      [tier('free', 1), tier('pro', 1, ofPlan('pro'))],
      'tier "pro" counts no request, because "free" before it matches all requests that it matches. Write "pro" first, or leave out its tiers if both shall count.',
    ],
    [
      'a tier behind one with the same match',
      [tier('pro', 9, ofPlan('pro')), tier('more', 5, ofPlan('pro')), tier('free', 1)],
      'tier "more" counts no request, because "pro" before it matches all requests that it matches. Write "more" first, or leave out its tiers if both shall count.',
    ],
    [
      'a tier behind one that matches more',
      [tier('api', 9, { match: { path: '/api/*' } }), tier('login', 5, { match: { path: '/api/login' } })],
      'tier "login" counts no request, because "api" before it matches all requests that it matches. Write "login" first, or leave out its tiers if both shall count.',
    ],
    [
      'a spill to a tier of the group',
      [tier('pro', 1, { ...ofPlan('pro'), spill: 'free' }), tier('free', 1)],
      'tier "pro" spills over to "free", a tier of its own group',
    ],
  ])('%s', (_, policies, message) => expect(() => setUp(policies)).toThrow(message))
})

type MatchOption = NonNullable<Policy['match']>

/** Whether a tier is rejected behind another. */
const isUnreachable = (first: MatchOption, second: MatchOption): boolean => {
  try {
    setUp([tier('first', 1, { match: first }), tier('second', 1, { match: second })])
    return false
  } catch (error) {
    expect((error as Error).message).toContain('tier "second" counts no request')
    return true
  }
}
const isPro = ({ plan }: FakeRequest): boolean => plan === 'pro'

describe('a tier is unreachable', () => {
  test.each<[string, MatchOption, MatchOption]>([
    ['another order of a list', { path: ['/a', '/b'] }, { path: ['/b', '/a'] }],
    ['a list that includes it', { path: ['/a', '/b'] }, { path: '/b' }],
    ['all paths below', { path: '/api/*' }, { path: ['/api', '/api/v1/*', '/api/:name'] }],
    ['the path of a parameter', { path: '/users/:id/*' }, { path: '/users/:id/posts' }],
    ['all paths', { path: '/**' }, { path: ['/', '/a'] }],
    ['one header of two', { header: { 'x-beta': true } }, { header: { 'x-beta': true, 'x-other': '2' } }],
    ['another condition more', { method: 'GET' }, { method: 'GET', path: '/a' }],
    ['one claim of two', { claim: { plan: 'pro' } }, { claim: { plan: 'pro', seats: 5 } }],
    ['one address', { ip: ['10.0.0.0/8', '192.0.2.1'] }, { ip: '192.0.2.1' }],
  ])('by %s', (_, first, second) => expect(isUnreachable(first, second)).toBe(true))

  test.each<[string, MatchOption, MatchOption]>([
    ['a list has more', { path: '/a' }, { path: ['/a', '/b'] }],
    ['the first has another condition', { method: 'GET', path: '/a' }, { path: '/a' }],
    ['a parameter follows its segment', { path: '/users/me' }, { path: '/users/:id' }],
    ['a path has another length', { path: '/users/:id' }, { path: '/users/:id/posts' }],
    ['all paths below follow one', { path: '/api' }, { path: '/api/*' }],
    ['a header is no path', { header: { path: '/a/*' } }, { header: { path: '/a/b' } }],
    ['paths are below another', { path: '/api/*' }, { path: '/app/*' }],
    ['GET follows HEAD', { method: 'HEAD' }, { method: 'GET' }],
    ['another value of a header', { header: { 'x-beta': '1' } }, { header: { 'x-beta': '2' } }],
    ['an empty header is none', { header: { 'x-beta': true } }, { header: { 'x-beta': '' } }],
    ['the claim true is a value', { claim: { plan: true } }, { claim: { plan: 'pro' } }],
    ['claims have capitals', { claim: { Plan: 'pro' } }, { claim: { plan: 'pro' } }],
    ['another kind of condition', { claim: { plan: 'pro' } }, { header: { plan: 'pro' } }],
    ['a function may return anything', isPro, isPro],
    ['a function may match less', isPro, { claim: { plan: 'pro' } }],
  ])('not if %s', (_, first, second) => expect(isUnreachable(first, second)).toBe(false))
})

const rule = (name: string, rps: number, more: object = {}) => ({
  name,
  limit_keys: ['header:x-api-key'],
  algorithm: 'token_bucket',
  algorithm_config: { rps, burst: 2 * rps },
  ...more,
})
const tiersOf = (rules: readonly object[]): readonly (readonly [string, string | undefined])[] =>
  policiesFrom(JSON.parse(JSON.stringify(rules))).map(({ name, tiers }) => [name, tiers])

describe('rules in JSON', () => {
  const match = { 'jwt:plan': 'enterprise' }
  const enterprise = rule('enterprise', 1_000, { match })
  const free = rule('free', 10)

  test('are tiers if they say so', () => {
    const explicit = [
      { ...rule('trial', 5, { match: { 'claim:plan': 'trial' } }), tiers: 'plan' },
      { ...free, tiers: 'plan' },
    ]
    expect(tiersOf(explicit)).toEqual([
      ['trial', 'plan'],
      ['free', 'plan'],
    ])
  })

  // The published document gave an enterprise key the 20 units of the free tier.
  test('are tiers if one of them could never deny otherwise', () => {
    expect(tiersOf([enterprise, free])).toEqual([
      ['enterprise', 'free'],
      ['free', 'free'],
    ])
    expect(tiersOf([enterprise, rule('pro', 100, { match: { 'jwt:plan': 'pro' } }), free])).toEqual([
      ['enterprise', 'free'],
      ['pro', 'free'],
      ['free', 'free'],
    ])
  })

  // The second quota of enterprise keys was a tier behind the first, and counted nothing.
  test('count beside a tier that matches all of their requests', () => {
    const path = rule('reports', 500, { match: { ...match, path: '/reports' } })
    expect(tiersOf([enterprise, rule('also', 900, { match }), path, free])).toEqual([
      ['enterprise', 'free'],
      ['also', undefined],
      ['reports', undefined],
      ['free', 'free'],
    ])
    expect(tiersOf([path, enterprise, free])).toEqual([
      ['reports', 'free'],
      ['enterprise', 'free'],
      ['free', 'free'],
    ])
  })

  test.each<[string, readonly object[]]>([
    ['a smaller quota for some', [rule('login', 1, { match: { path: '/login' } }), free]],
    ['another key', [{ ...enterprise, limit_keys: ['ip'] }, free]],
    ['another cost', [{ ...enterprise, algorithm_config: { rps: 1_000, burst: 2_000, fixed_cost: 2 } }, free]],
    ['more at once, but a lower rate', [{ ...enterprise, algorithm_config: { rps: 1, burst: 100 } }, free]],
    ['a shadow', [{ ...enterprise, mode: 'shadow' }, free]],
    ['a spill policy', [{ ...enterprise, spill: 'free' }, free]],
    ['a match of each', [enterprise, { ...free, match: { 'jwt:plan': 'free' } }]],
    ['the one for all first', [free, enterprise]],
  ])('all count with %s', (_, rules) => {
    for (const [, tiers] of tiersOf(rules)) expect(tiers).toBe(undefined)
  })

  test.each([
    [[{ ...enterprise, tiers: 5 }, free], 'rules[0].tiers must be the name of a group of rules'],
    [
      [
        { ...free, tiers: 'plan' },
        { ...enterprise, tiers: 'plan' },
      ],
      'rules: tier "enterprise" counts no request',
    ],
    [
      [
        { ...enterprise, tiers: 'plan' },
        { ...enterprise, name: 'pro', tiers: 'plan' },
      ],
      'rules: tier "pro" counts no request, because "enterprise" before it matches',
    ],
  ])('%j is an error', (rules, message) => expect(() => tiersOf(rules)).toThrow(message))
})

test('windows are compared by their units and their rate, too', () => {
  const window = (name: string, limit: number, span: string, more: object = {}) => ({
    name,
    limit_keys: ['ip'],
    algorithm: 'sliding_window',
    algorithm_config: { limit, window: span },
    ...more,
  })
  const some = { match: { 'claim:plan': 'pro' } }
  expect(tiersOf([window('pro', 100, '1m', some), window('free', 10, '1m')])[0]?.[1]).toBe('free')
  expect(tiersOf([window('pro', 100, '1h', some), window('free', 10, '1m')])[0]?.[1]).toBe(undefined)
})
