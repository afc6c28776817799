import { describe, expect, test, vi } from 'vitest'
import { checkTiers } from '../src/policies/tiers.ts'
import { type FakeRequest, type Policy, setUp, tier, tiersOf } from './tier.ts'

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

// Each tier was compared with all before it: 8,000 of them took 32 million comparisons.
describe('each of 8,000 tiers is compared with few others', () => {
  const shapes: readonly (readonly [what: string, match: (i: number) => object])[] = [
    ['paths', (i) => ({ path: `/a/${i}` })],
    ['all below paths', (i) => ({ path: `/a/${i}/*` })],
    ['lists of paths', (i) => ({ path: [`/a/${i}`, `/b/${i}`, '/c/:id'] })],
    ['a method that is common, and paths', (i) => ({ method: 'GET', path: `/a/${i}` })],
    ['claims', (i) => ({ claim: { plan: 'pro', account: i } })],
    ['headers', (i) => ({ header: { 'x-key': [`${i}`, `${i + 0.5}`] } })],
    ['alternatives', (i) => [{ path: '/a' }, { path: `/a/${i}` }, { claim: { account: i } }]],
  ]

  test.each(shapes)('%s', (_, match) => {
    const tiers = Array.from({ length: 8_000 }, (_, i) => ({ name: `${i}`, tiers: 'plan', match: match(i) }))
    const entries = vi.spyOn(Object, 'entries')
    checkTiers(tiers)
    expect(entries.mock.calls.length).toBeLessThan(20 * tiers.length)
    entries.mockRestore()
    const again = { name: 'again', tiers: 'plan', match: match(4_321) }
    expect(() => checkTiers([...tiers, again])).toThrow('tier "again" counts no request, because "4321" before it')
  })
})
