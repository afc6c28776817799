import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import express from 'express'
import request from 'supertest'
import { expect, test, vi } from 'vitest'

// An app may import one copy of a package and require another, or have two versions installed: they count together.

async function copyOfAll() {
  vi.resetModules()
  const [core, http, forExpress, forFetch] = await Promise.all([
    import('@spillway/core'),
    import('@spillway/core/http'),
    import('@spillway/express'),
    import('@spillway/fetch'),
  ])
  return { ...core, ...http, express: forExpress, fetch: forFetch }
}

const [one, two] = [await copyOfAll(), await copyOfAll()]

test('these are two copies', () => {
  expect(one.rateLimiter).not.toBe(two.rateLimiter)
})

test.each([
  ['QuotaError', () => new one.QuotaError('ERR_SPILLWAY_KEY', 'a mistake')],
  ['StoreError', () => new one.StoreError('down')],
  ['RateLimitedError', () => waitOfOne()],
] as const)('instanceof recognises a %s of the other copy, and no other error', async (name, make) => {
  const error = await make()
  for (const copy of [one, two]) {
    expect(error).toBeInstanceOf(copy[name])
    for (const other of ['QuotaError', 'StoreError', 'RateLimitedError'] as const)
      expect(error instanceof copy[other]).toBe(other === name)
  }
  class Own extends two.QuotaError {}
  expect(error).not.toBeInstanceOf(Own)
  expect(new Own('ERR_SPILLWAY_KEY', 'a mistake')).toBeInstanceOf(Own)
})

async function waitOfOne(): Promise<unknown> {
  const limiter = one.rateLimiter({ quota: one.perMinute(1), store: modelStore(fakeClock()) })
  await limiter.consume('a')
  return limiter.wait('a', { maxWait: 0 }).catch((error: unknown) => error)
}

test('a name that both use on one store must have one quota', () => {
  const store = modelStore(fakeClock())
  one.rateLimiter({ name: 'api', quota: one.perMinute(1), store })
  expect(() => two.rateLimiter({ name: 'api', quota: two.perMinute(2), store })).toThrow('"api"')
})

test('consumeAll takes limiters of both', async () => {
  const store = modelStore(fakeClock())
  const limiters = [one, two].map(({ rateLimiter, perMinute }, i) =>
    rateLimiter({ name: `quota-${i}`, quota: perMinute(1), store }),
  )
  const takes = limiters.map((limiter) => [limiter, 'a'] as const)
  expect([(await two.consumeAll(takes)).allowed, (await one.consumeAll(takes)).allowed]).toEqual([true, false])
})

test('the circuit that one opens is open for the other', async () => {
  const store = faultyStore(modelStore(fakeClock()))
  const limiters = [one, two].map(({ rateLimiter, perMinute }) =>
    rateLimiter({ quota: perMinute(9), store, onStoreError: 'allow', logger: { warn: () => {} } }),
  )
  store.break('failing')
  for (let i = 0; i < 5; i++) await limiters[0]?.consume('a')
  await limiters[1]?.consume('a')
  expect(store.calls).toBe(5)
})

test('each warning is logged once', async () => {
  const logger = { warn: vi.fn() }
  for (const { express: copy } of [one, two]) {
    const app = express().set('trust proxy', true)
    app.use(copy.rateLimit({ quota: copy.perMinute(9), logger }), (_req, res) => void res.end())
    await request(app).get('/')
  }
  expect(logger.warn).toHaveBeenCalledOnce()
})

test('two middlewares on one request have two names, and one of each counts it', async () => {
  const app = express()
  for (const { express: copy } of [one, two]) app.use(copy.rateLimit({ quota: copy.perMinute(9) }))
  app.use((_req, res) => void res.end())
  const { headers } = await request(app).get('/')
  expect(headers['ratelimit-policy']).toBe('"default";q=9;w=60, "default-2";q=9;w=60')
})

test('a handler reads the decision of the other copy', async () => {
  const limit = one.fetch.rateLimit({ quota: one.perMinute(9) })
  const handler = limit((request: Request) => Response.json(two.fetch.decisionOf(request)?.remaining))
  expect(await (await handler(new Request('http://localhost/'))).json()).toBe(8)
})
