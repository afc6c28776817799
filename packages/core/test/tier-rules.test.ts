import { describe, expect, test } from 'vitest'
import { tiersOf } from './tier.ts'

const rule = (name: string, rps: number, more: object = {}) => ({
  name,
  limit_keys: ['header:x-api-key'],
  algorithm: 'token_bucket',
  algorithm_config: { rps, burst: 2 * rps },
  ...more,
})

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

  test('are tiers if they count the same statuses', () => {
    const failed = [
      { ...enterprise, count_if: [401, 403] },
      { ...free, count_if: [403, 401] },
    ]
    expect(tiersOf(failed)).toEqual([
      ['enterprise', 'free'],
      ['free', 'free'],
    ])
  })

  // All four were one group: requests that the first two match were not counted by key.
  test('are no tiers of a group that other rules name like the last of them', () => {
    const explicit = ['search', 'rest'].map((name) => rule(name, 50, { match: { path: `/${name}` }, tiers: 'free' }))
    expect(tiersOf([...explicit, enterprise, free])).toEqual([
      ['search', 'free'],
      ['rest', 'free'],
      ['enterprise', 'free (implied)'],
      ['free', 'free (implied)'],
    ])
    const other = { limit_keys: ['ip'] }
    const named = [rule('paid', 100, { match, ...other }), rule('free (implied)', 20, other)]
    expect(tiersOf([...explicit, enterprise, ...named, free]).slice(2)).toEqual([
      ['enterprise', 'free (implied) (implied)'],
      ['paid', 'free (implied)'],
      ['free (implied)', 'free (implied)'],
      ['free', 'free (implied) (implied)'],
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
    // Failed logins were not counted where a larger quota counts all requests.
    ['statuses that the last alone counts', [enterprise, { ...free, count_if: [401] }]],
    ['statuses that the first alone counts', [{ ...enterprise, count_if: [401] }, free]],
    // A reserve was no spill policy of the requests of an enterprise, and a reserve in the place of the last left it uncounted.
    ['a later spill policy', [enterprise, rule('second', 5, { spill: 'free' }), free]],
    ['an earlier spill policy', [rule('second', 5, { match, spill: 'enterprise' }), enterprise, free]],
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
