import { describe, expect, test } from 'vitest'
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
