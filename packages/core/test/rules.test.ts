import { describe, expect, test } from 'vitest'
import { inFlight } from '../src/in-flight.ts'
import {
  calendarWindow,
  fixedWindow,
  leakyBucket,
  penalty,
  perMonth,
  perSecond,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '../src/index.ts'
import { policiesFrom } from '../src/rules/index.ts'
import { rule } from './documents.ts'

const only = (parts: object) => policiesFrom([rule(parts)], { inFlight })[0]
const config = (numbers: object, algorithm = 'token_bucket') => only({ algorithm, algorithm_config: numbers })

describe('the examples that the format comes with', () => {
  test('tiers by API key', () => {
    const enterprise = {
      name: 'enterprise',
      limit_keys: ['header:x-api-key'],
      algorithm: 'token_bucket',
      algorithm_config: { rps: 1000, burst: 2000 },
      match: { 'jwt:plan': 'enterprise' },
    }
    const free = { ...enterprise, name: 'free', algorithm_config: { rps: 10, burst: 20 }, match: undefined }
    expect(policiesFrom(JSON.parse(JSON.stringify({ rules: [enterprise, free] })))).toEqual([
      {
        name: 'enterprise',
        quota: perSecond(1000, { burst: 2000 }),
        key: 'header:x-api-key',
        match: { claim: { plan: 'enterprise' } },
        tiers: 'free',
      },
      { name: 'free', quota: perSecond(10, { burst: 20 }), key: 'header:x-api-key', tiers: 'free' },
    ])
  })

  test('a fixed cost, and one from a header', () => {
    const fixed = { tokens_per_second: 100, burst: 200, cost_source: 'fixed', fixed_cost: 2, default_cost: 1 }
    expect(config(fixed)).toEqual({
      name: 'a',
      quota: perSecond(100, { burst: 200 }),
      key: 'ip',
      cost: 2,
    })
    // A fixed cost is never missing.
    expect(config({ rps: 5, cost_source: 'fixed', default_cost: 4 })).toEqual({
      name: 'a',
      quota: perSecond(5),
      key: 'ip',
    })
    const reported = { rps: 100, burst: 1000, cost_source: 'header:x-request-weight', max_cost: 50 }
    expect(config(reported)).toEqual({
      name: 'a',
      quota: perSecond(100, { burst: 1000 }),
      key: 'ip',
      cost: 'header:x-request-weight',
      maxCost: 50,
    })
  })

  test('a burst below the rate, which other formats forbid, paces evenly', () =>
    expect(config({ rps: 10, burst: 1 })?.quota).toEqual(perSecond(10, { burst: 1 })))
})

test.each([
  [0.5, { limit: 1, per: '2s' }],
  [2.5, { limit: 5, per: '2s' }],
  [0.1, { limit: 1, per: '10s' }],
  [0.3, { limit: 3, per: '10s' }],
  [1.1, { limit: 11, per: '10s' }],
  [0.57, { limit: 57, per: '100s' }],
  [1e-7, { limit: 1, per: '10000000s' }],
  [1e3, { limit: 1000, per: '1s' }],
  [1e6, { limit: 1_000_000, per: '1s' }],
] as const)('%d a second is reported in whole units', (rps, rate) =>
  expect(config({ rps, burst: 3 })?.quota).toEqual(tokenBucket({ ...rate, burst: 3 })),
)

test.each([
  [
    'token_bucket',
    { limit: 5, per: '3s', burst: 7, overdraft: 2 },
    tokenBucket({ limit: 5, per: '3s', burst: 7, overdraft: 2 }),
  ],
  [
    'token_bucket',
    { limit: 5, per: '3s', burst: 7, initial: 2, keep_full: '1h' },
    tokenBucket({ limit: 5, per: '3s', burst: 7, initial: 2, keepFull: '1h' }),
  ],
  [
    'token_bucket',
    { limit: 60, per: '1m', burst: 60, refill: '10s' },
    tokenBucket({ limit: 60, per: '1m', refill: '10s' }),
  ],
  ['token_bucket', { rps: 0.5, burst: 5, refill: '10s' }, tokenBucket({ limit: 5, per: '10s', refill: '10s' })],
  ['leaky_bucket', { limit: 5, per: '1s', queue: 0 }, leakyBucket({ limit: 5, per: '1s', queue: 0 })],
  ['fixed_window', { limit: 5, window: '1d', offset: '2h' }, fixedWindow({ limit: 5, window: '1d', offset: '2h' })],
  ['fixed_window', { limit: 5, window: '1d', align: 'first' }, fixedWindow({ limit: 5, window: '1d', align: 'first' })],
  ['calendar_window', { limit: 5, unit: 'month' }, perMonth(5)],
  [
    'calendar_window',
    { limit: 5, unit: 'week', time_zone: 'Europe/Berlin', first_day: 7 },
    calendarWindow({ limit: 5, unit: 'week', timeZone: 'Europe/Berlin', firstDay: 7 }),
  ],
  ['sliding_window', { limit: 5, window: '1m' }, slidingWindow({ limit: 5, window: '1m' })],
  ['sliding_log', { limit: 5, window: '1.5s' }, slidingLog({ limit: 5, window: '1.5s' })],
  [
    'warming_up',
    { limit: 5, per: '1s', warm_up_period: '10s', burst: 2 },
    warmingUp({ limit: 5, per: '1s', warmUpPeriod: '10s', burst: 2 }),
  ],
  ['in_flight', { limit: 5 }, inFlight(5)],
  ['in_flight', { limit: 5, ttl: '10s', fixed_cost: 2 }, inFlight(5, { ttl: '10s' })],
  ['penalty', { after: 5, within: '15m', block: '1h' }, penalty({ after: 5, within: '15m', block: '1h' })],
  [
    'penalty',
    { after: 5, within: '15m', block: '15m', grow: 2, max: '1d', forgive: '2d', extend: true },
    penalty({ after: 5, within: '15m', block: '15m', grow: 2, max: '1d', forgive: '2d', extend: true }),
  ],
])('%s with %j', (algorithm, numbers, quota) => expect(config(numbers, algorithm)?.quota).toEqual(quota))

describe('slots', () => {
  const slots = { ...rule({ name: 'slots', match: { path: '/export' } }), algorithm: 'in_flight' }
  const rules = [{ ...slots, algorithm_config: { limit: 10 } }, rule({ algorithm_config: { rps: 1 } })]

  test('need what brings them, so that others pay nothing for it', () => {
    expect(() => policiesFrom(rules)).toThrow(
      'rules[0].algorithm_config: in_flight needs its builder: policiesFrom(json, { inFlight })',
    )
    expect(() => policiesFrom(rules, { inflight: inFlight } as never)).toThrow('inFlight')
    expect(() => policiesFrom(rules, { inFlight: 10 } as never)).toThrow('inFlight')
  })

  test('and a smaller rate for all requests both count: they are no tiers', () =>
    expect(policiesFrom(rules, { inFlight }).map(({ tiers }) => tiers)).toEqual([undefined, undefined]))

  test('have at most 10,000', () =>
    expect(() => policiesFrom([{ ...slots, algorithm_config: { limit: 10_001 } }], { inFlight })).toThrow(
      'rules[0].algorithm_config.limit must be a whole number, 0 to 10,000; got 10001.',
    ))
})

// It was an error: policies took lists, and rules did not.
test('a list of matches is one of the policy', () => {
  const match = [
    { method: 'POST', path: '/login' },
    { 'header:X-Beta': true, 'jwt:plan': 'pro' },
  ]
  expect(only({ match })?.match).toEqual([
    { method: 'POST', path: '/login' },
    { header: { 'x-beta': true }, claim: { plan: 'pro' } },
  ])
})

test('a tier whose matches the tiers before it cover is never reached', () => {
  const tier = (name: string, match: unknown) => ({
    name,
    limit_keys: ['ip:address'],
    algorithm: 'token_bucket',
    algorithm_config: { rps: 1, burst: 5 },
    tiers: 'plan',
    match,
  })
  const rules = [tier('a', { path: '/a/*' }), tier('b', [{ path: '/a/x' }, { path: '/a/y' }])]
  expect(() => policiesFrom(rules)).toThrow('tier "b" counts no request')
})

test('keys and matches come out as policies spell them', () => {
  const keys = ['ip', 'ip:address', 'method', 'path', 'header:X-Key', 'query:Key', 'cookie:Id', 'jwt:a:b', 'claim:c']
  const match = {
    method: ['GET', 'HEAD'],
    path: '/api/*',
    'header:X-Plan': true,
    'jwt:plan': 'pro',
    'claim:level': 3,
    'claim:beta': false,
  }
  expect(only({ limit_keys: keys, match, mode: 'shadow' })).toEqual({
    name: 'a',
    quota: perSecond(5, { burst: 10 }),
    key: ['ip', 'ip', 'method', 'path', 'header:x-key', 'query:Key', 'cookie:Id', 'claim:a:b', 'claim:c'],
    match: {
      method: ['GET', 'HEAD'],
      path: '/api/*',
      header: { 'x-plan': true },
      claim: { plan: 'pro', level: 3, beta: false },
    },
    mode: 'shadow',
  })
})

test('the statuses that count come out as policies spell them', () => {
  expect(only({ count_if: [401, 403] })?.countIf).toEqual([401, 403])
  expect(() => only({ count_if: [] })).toThrow('rules[0].count_if must not be empty.')
  expect(() => only({ count_if: [4] })).toThrow('rules[0].count_if[0] must be a status from 100 to 599; got 4.')
})

test('burst is optional: by default the limit, or the units of one second rounded up', () => {
  expect(config({ rps: 5 })?.quota).toEqual(perSecond(5))
  // 1.001 a second had a burst of 1,001: as many units as come in 1,000 seconds.
  expect(config({ rps: 1.001 })?.quota).toEqual(tokenBucket({ limit: 1001, per: '1000s', burst: 2 }))
  expect(config({ rps: 0.5 })?.quota).toEqual(tokenBucket({ limit: 1, per: '2s', burst: 1 }))
  expect(config({ limit: 7, per: '1m' })?.quota).toEqual(tokenBucket({ limit: 7, per: '1m' }))
})
