import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute } from '../src/index.ts'
import { type FakeRequest, type Policy, setUp, tier } from './tier.ts'

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
