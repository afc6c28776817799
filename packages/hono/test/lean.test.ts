import { memoryStore, rateLimiter } from '@spillway/memory'
import { Hono } from 'hono'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import {
  fixedWindow,
  perMinute as fullPerMinute,
  rateLimit as fullRateLimit,
  penalty,
  QuotaError,
} from '../src/index.ts'
import * as lean from '../src/lean.ts'
import {
  answers,
  anyQuota,
  blocks,
  byKey,
  costs,
  createRateLimit,
  decisionOf,
  events,
  headerForms,
  matching,
  perMinute,
  quotasByRequest,
  rateLimit,
  selectors,
  settled,
  settling,
  several,
  shadow,
  spill,
  stores,
  trustedProxies,
} from '../src/lean.ts'

// A limiter with the features that an app names, and no others.

const ANSWER = 'served'

/** The options of the full limiter that the lean one has not, as its error lists them. */
const optionsOfFeatures = (): readonly string[] => {
  const own = ['name', 'quota', 'key', 'logger', 'ipv6Prefix']
  let message = ''
  try {
    fullRateLimit({ quota: fullPerMinute(1), colour: 1 } as never)
  } catch (error) {
    message = (error as Error).message
  }
  const [, list = ''] = /It knows (.+?)\.(?: |$)/.exec(message) ?? []
  return list.split(', ').filter((option) => !own.includes(option))
}

const app = (limit: ReturnType<typeof rateLimit>) => {
  const hono = new Hono()
  hono.use(limit)
  hono.all('*', (c) => c.text(ANSWER))
  return hono
}

const from = (address: string, path = '/', headers: Record<string, string> = {}) =>
  new Request(`http://localhost${path}`, { headers: { 'x-forwarded-for': address, ...headers } })

describe('a limiter without features', () => {
  test('counts a key in memory, and answers as the full one does', async () => {
    const hono = app(rateLimit({ quota: perMinute(2), key: () => 'all', logger: { warn: vi.fn() } }))
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push((await hono.request('/')).status)
    expect(statuses).toEqual([200, 200, 429])
    const denied = await hono.request('/')
    expect(denied.headers.get('RateLimit-Policy')).toBe('"default";q=2;w=60')
    expect(denied.headers.get('RateLimit')).toBe('"default";r=0;t=30')
    expect(denied.headers.get('Retry-After')).toBe('30')
    expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] })
  })

  test.each([
    ['trustProxy', { trustProxy: 1 }, 'createRateLimit(trustedProxies)'],
    ['match', { match: { path: '/login' } }, 'createRateLimit(matching)'],
    ['cost', { cost: 2 }, 'createRateLimit(costs)'],
    ['a selector', { key: 'header:x-api-key' }, 'createRateLimit(selectors)'],
    ['store', { store: {} }, 'createRateLimit(stores)'],
    ['policies', { policies: [] }, 'createRateLimit(several)'],
    ['mode', { mode: 'shadow' }, 'createRateLimit(shadow)'],
    ['spill', { spill: 'other' }, 'createRateLimit(spill)'],
    ['maxWait', { maxWait: '1s' }, 'createRateLimit(waiting)'],
    ['a misspelt option', { colour: 1 }, 'It knows name, quota, key, logger, ipv6Prefix.'],
  ])('throws for %s, and names its feature', (_, options, message) => {
    expect(() => rateLimit({ quota: perMinute(1), ...options } as never)).toThrow(message)
  })
})

describe('features', () => {
  test('are installed together, and only for their limiter', async () => {
    const limiting = createRateLimit(trustedProxies, selectors, matching, costs)
    const limit = limiting({ quota: perMinute(4), trustProxy: 1, match: { path: '/login' }, cost: 2 })
    const hono = app(limit)
    const served = async (address: string, path: string) => (await hono.request(from(address, path))).status
    expect(await served('192.0.2.1', '/login')).toBe(200)
    expect(await served('192.0.2.1', '/login')).toBe(200)
    expect(await served('192.0.2.1', '/login')).toBe(429)
    expect(await served('192.0.2.2', '/login')).toBe(200)
    expect(await served('192.0.2.1', '/other')).toBe(200)
    expect(() => rateLimit({ quota: perMinute(1), trustProxy: 1 } as never)).toThrow('trustedProxies')
  })

  test('are found missing in a list of policies, too', () => {
    const limiting = createRateLimit(selectors, matching, several)
    const policies = [
      { name: 'a', quota: perMinute(1) },
      { name: 'b', quota: perMinute(1), cost: 2 },
    ]
    expect(() => limiting({ policies } as never)).toThrow('createRateLimit(costs)')
  })

  test('count several policies, and correct what was consumed', async () => {
    const limiting = createRateLimit(selectors, matching, several, settling)
    const limit = limiting({
      policies: [
        { name: 'burst', quota: perMinute(1), key: 'header:x-key', countIf: [401] },
        { name: 'all', quota: perMinute(100), key: 'header:x-key' },
      ],
    })
    const hono = app(limit)
    const answer = async () => hono.request(from('192.0.2.1', '/', { 'x-key': 'a' }))
    for (let i = 0; i < 3; i++) {
      const response = await answer()
      expect(response.status).toBe(200)
      expect(response.headers.get('RateLimit')).toMatch(/"burst";r=0.*"all";r=\d\d/)
      await response.text()
      await settled()
    }
  })

  test('answer denials', async () => {
    const limiting = createRateLimit(answers)
    const hono = app(limiting({ quota: perMinute(1), key: () => 'all', onDenied: () => 'slow down' }))
    await hono.request('/')
    const denied = await hono.request('/')
    expect([denied.status, await denied.text()]).toEqual([429, 'slow down'])
  })

  test('choose the quota by request', async () => {
    const limiting = createRateLimit(quotasByRequest)
    const hono = app(limiting({ quota: (c) => perMinute(c.req.path === '/free' ? 1 : 2), key: () => 'all' }))
    const statuses: number[] = []
    for (const path of ['/paid', '/paid', '/paid']) statuses.push((await hono.request(path)).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  // A denial by a limiter that counts instead had Retry-After: 1, whatever its wait, and of several policies none was listed.
  test.each(['local', 'allow', 'deny', 'limiter'] as const)(
    'report as the full one does while a store does not answer: %s',
    async (mode) => {
      const logger = { warn: () => {} }
      const failing = () => ({ take: async () => Promise.reject(new Error('down')), delete: async () => 0 })
      const onStoreError = () => (mode === 'limiter' ? rateLimiter({ quota: fullPerMinute(2), logger }) : mode)
      const one = () => ({ quota: fullPerMinute(2), key: () => 'all', store: failing(), onStoreError: onStoreError() })
      const two = () => [
        { ...one(), name: 'remote' },
        { name: 'near', quota: fullPerMinute(3), key: () => 'all', store: memoryStore() },
      ]
      const limiting = createRateLimit(selectors, matching, several, stores)
      const answersOf = async (limit: ReturnType<typeof rateLimit>) => {
        const hono = app(limit)
        const found: unknown[] = []
        for (let i = 0; i < 5; i++) {
          const { status, headers } = await hono.request('/')
          found.push([status, ...['RateLimit-Policy', 'RateLimit', 'Retry-After'].map((name) => headers.get(name))])
        }
        return found
      }
      vi.useFakeTimers({ toFake: ['Date'] })
      onTestFinished(() => void vi.useRealTimers())
      const full = [
        await answersOf(fullRateLimit({ ...one(), logger })),
        await answersOf(fullRateLimit({ policies: two(), logger })),
      ]
      expect(await answersOf(limiting({ ...one(), logger } as never))).toEqual(full[0])
      expect(await answersOf(limiting({ policies: two(), logger } as never))).toEqual(full[1])
    },
  )

  test('must be named with those that they are built on', () => {
    expect(() => createRateLimit(matching)).toThrow('createRateLimit(selectors, matching)')
  })

  // Each replaced what the one before it had added: the shadow policy did not count, and headers had another form.
  test('may be named in any order', async () => {
    const key = () => 'all'
    const policies = [
      { name: 'a', quota: fullPerMinute(9), key },
      { name: 'b', quota: fullPerMinute(9), key },
      { name: 'trial', quota: fullPerMinute(9), key, mode: 'shadow' as const },
    ]
    const modes: string[] = []
    const limiting = createRateLimit(headerForms, shadow, events, blocks, several, matching, selectors, stores)
    const limit = limiting({ policies, headers: 'draft-6', onDecision: ({ mode }) => modes.push(mode) })
    const { headers } = await app(limit).request('/')
    expect([headers.get('RateLimit-Limit'), headers.get('RateLimit')]).toEqual(['9', null])
    expect(modes).toEqual(['shadow', 'enforce'])
  })

  // A shadow policy counted each request twice, and each decision was reported twice.
  test('are named once', () => {
    expect(() => createRateLimit(events, selectors, events)).toThrow('the feature events is named twice')
  })

  // It was an error about the type of the quota.
  test('are named for a function as the quota', () => {
    // @ts-expect-error quotasByRequest is not installed
    expect(() => rateLimit({ quota: () => perMinute(1) })).toThrow('createRateLimit(quotasByRequest)')
    // A quota beside a list of policies is not one by request.
    const both = { quota: perMinute(1), policies: [{ name: 'a', quota: perMinute(1) }] }
    expect(() => createRateLimit(selectors, matching, several)(both as never)).not.toThrow('quotasByRequest')
  })

  // It was a TypeError of Object.entries.
  test.each([undefined, 'matching', { quota: perMinute(1) }])('are no options: %o', (given) => {
    expect(() => createRateLimit(given as never)).toThrow('createRateLimit takes features; got')
  })
})

test('each option of the full limiter names its feature, which the entry has', () => {
  const known = optionsOfFeatures()
  expect(known.length).toBeGreaterThan(25)
  const namedFor = (option: string): string | undefined => {
    try {
      rateLimit({ quota: perMinute(1), [option]: 1 } as never)
    } catch (error) {
      return /createRateLimit\((\w+)\)/.exec((error as Error).message)?.[1]
    }
    return undefined
  }
  const hints = known.map(namedFor)
  expect(hints.filter((name) => !(name !== undefined && name in lean))).toEqual([])
})

describe('calls by key', () => {
  test('are a feature', async () => {
    const limit = createRateLimit(byKey)({ quota: fullPerMinute(1), key: () => 'all' })
    const hono = app(limit)
    const status = async () => (await hono.request('/')).status
    expect([await status(), await status()]).toEqual([200, 429])
    expect((await limit.peek('all')).allowed).toBe(false)
    await limit.refund('all')
    expect([await status(), await status()]).toEqual([200, 429])
    expect([await limit.reset('all'), await status()]).toEqual([true, 200])
    const [inspection] = await limit.inspect('all')
    expect(inspection?.decision.remaining).toBe(0)
    await expect(limit.block('all', '1m')).rejects.toThrow('blocks: true')
  })

  test('block keys together with blocks', async () => {
    const limiting = createRateLimit(byKey, selectors, matching, several, blocks)
    const limit = limiting({ quota: fullPerMinute(9), key: () => 'all', blocks: true })
    await limit.block('all', '1m')
    expect((await app(limit).request('/')).status).toBe(429)
    await limit.unblock('all')
    expect((await app(limit).request('/')).status).toBe(200)
  })

  test('are a type error, and missing, without it', () => {
    const limit = rateLimit({ quota: perMinute(1) })
    // @ts-expect-error byKey is not installed
    expect(limit.peek).toBeUndefined()
  })
})

test('policies can be replaced, and keep their counts', async () => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'all' })
  const hono = app(limit)
  expect([(await hono.request('/')).status, (await hono.request('/')).status]).toEqual([200, 429])
  limit.replace([{ quota: perMinute(1), key: () => 'other' }])
  expect((await hono.request('/')).status).toBe(200)
  // @ts-expect-error costs are not installed
  expect(() => limit.replace([{ quota: perMinute(1), cost: 2 }])).toThrow('createRateLimit(costs)')
})

// Without the feature, all policies but the first were ignored, and without any, all requests were allowed.
test.each([
  ['no policy', []],
  ['a hole', Array(1)],
  ['undefined', undefined],
  ['text', 'ab'],
  ['a policy without a list', { quota: perMinute(1) }],
  ['two policies', [1, 2].map((units) => ({ name: `of ${units}`, quota: perMinute(units) }))],
])('a limiter without the feature several keeps its policy when replace gets %s', async (_, policies) => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'all' })
  const hono = app(limit)
  const given = () => limit.replace(policies as never)
  expect(given).toThrow(QuotaError)
  expect([(await hono.request('/')).status, (await hono.request('/')).status]).toEqual([200, 429])
})

test('a policy spills over to another, and a shadow policy only counts', async () => {
  const seen: string[] = []
  const limiting = createRateLimit(selectors, matching, several, blocks, spill, events, shadow)
  const key = () => 'all'
  const hono = app(
    limiting({
      policies: [
        { name: 'first', quota: fullPerMinute(1), key, spill: 'extra' },
        { name: 'extra', quota: fullPerMinute(1), key },
        { name: 'trial', quota: fullPerMinute(1), key, mode: 'shadow' },
      ],
      onDecision: ({ decision, mode }) => seen.push(`${mode} ${decision.allowed}`),
    }),
  )
  const statuses: number[] = []
  for (let i = 0; i < 3; i++) statuses.push((await hono.request('/')).status)
  expect(statuses).toEqual([200, 200, 429])
  expect(seen).toEqual(['shadow true', 'enforce true', 'shadow false', 'enforce true', 'shadow false', 'enforce false'])
})

describe('quotas', () => {
  test('of windows need a feature', async () => {
    const quota = fixedWindow({ limit: 1, window: '1m', align: 'first' })
    expect(() => rateLimit({ quota, key: () => 'all' })).toThrow('createRateLimit(anyQuota)')
    const hono = app(createRateLimit(anyQuota)({ quota, key: () => 'all' }))
    expect([(await hono.request('/')).status, (await hono.request('/')).status]).toEqual([200, 429])
  })

  // All that bring a store of any quota. With settling or byKey, the type was that of an exceeded quota.
  test.each([[[anyQuota]], [[settling]], [[byKey]], [[stores]], [[selectors, matching, several, blocks]]])(
    'with features, denials have the problem type of the quota %#',
    async (features) => {
      const quota = penalty({ after: 1, within: '1m', block: '1h' })
      const hono = app(createRateLimit(...features)({ quota, key: () => 'all' }))
      await hono.request('/')
      const { type } = (await (await hono.request('/')).json()) as { readonly type: string }
      expect(type).toMatch(/#abnormal-usage-detected$/)
    },
  )
})

test('an option of a missing feature is a type error', () => {
  const limiting = createRateLimit(trustedProxies)
  limiting({ quota: perMinute(1), trustProxy: 1 })
  // @ts-expect-error matching is not installed
  expect(() => limiting({ quota: perMinute(1), match: { path: '/login' } })).toThrow('matching')
  // @ts-expect-error selectors are not installed
  expect(() => limiting({ quota: perMinute(1), key: 'header:x-api-key' })).toThrow('selectors')
  // @ts-expect-error there are no features
  expect(() => rateLimit({ quota: perMinute(1), trustProxy: 1 })).toThrow('trustedProxies')
  // @ts-expect-error several is not installed
  expect(() => limiting({ policies: [] })).toThrow('several')
  // @ts-expect-error a misspelt option is reported where it is
  expect(() => limiting({ quota: perMinute(1), trustProxies: 1 })).toThrow('trustProxies')
  const listing = createRateLimit(selectors, matching, several)
  // @ts-expect-error costs are not installed
  expect(() => listing({ policies: [{ name: 'a', quota: perMinute(1), cost: 2 }] })).toThrow('costs')
  expectTypeOf(createRateLimit(selectors)).parameter(0).toHaveProperty('key')
  expect(decisionOf).toBeTypeOf('function')
})
