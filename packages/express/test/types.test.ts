import type { RequestDecision } from '@spillway/core/http'
import express, { type Request, type RequestHandler, Router } from 'express'
import request from 'supertest'
import { expect, expectTypeOf, test } from 'vitest'
import {
  memoryStore,
  perDay,
  perMinute,
  perSecond,
  type Quota,
  type RateLimitOptions,
  rateLimit,
} from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (req) => req.ip },
    { name: 'tokens', quota: perDay(1_000), cost: 50, mode: 'shadow', settle: (res) => Number(res.locals['tokens']) },
  ],
  onDecision: ({ decision, request }) => {
    expectTypeOf(request).toEqualTypeOf<Request>()
    expectTypeOf(decision.policy).toEqualTypeOf<
      'burst' | 'tokens' | 'burst (shadow)' | 'tokens (shadow)' | 'burst (blocked)' | 'tokens (blocked)'
    >()
  },
  onDenied: (req, { policy, violated }) => {
    expectTypeOf(req).toEqualTypeOf<Request>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    expectTypeOf(violated).toEqualTypeOf<readonly (typeof policy)[]>()
    // @ts-expect-error: there is no such policy
    if (policy === 'bursts') return { status: 503 }
    return undefined
  },
})

test('a limiter has the names of its policies as types', async () => {
  const app = express()
  app.use(limit, (req, res) => {
    expectTypeOf(req.rateLimit).toEqualTypeOf<RequestDecision | undefined>()
    const decision = limit.decisionOf(req)
    expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    res.json([decision === req.rateLimit, decision?.policy satisfies 'burst' | 'tokens' | undefined])
  })
  expect((await request(app).get('/')).body).toEqual([true, 'burst'])
})

// A limiter was a handler of any parameters: those of the handlers behind it were `string | string[]`.
test('the handlers of a route keep the types of its parameters', () => {
  const app = express()
  app.get('/users/:id', limit, (req) => expectTypeOf(req.params.id).toEqualTypeOf<string>())
  app.post<{ id: 'a' }>('/typed/:id', limit, (req) => expectTypeOf(req.params.id).toEqualTypeOf<'a'>())
  app.route('/r/:id').get(limit, (req) => expectTypeOf(req.params.id).toEqualTypeOf<string>())
  const handlers: RequestHandler[] = [limit, (req, res, next) => limit(req, res, next)]
  app.use('/a', ...handlers)
  Router().use(limit)
})

test('one policy, without a name or with a name known only at run time', () => {
  expectTypeOf(rateLimit({ quota: perMinute(1) }).decisionOf).returns.toEqualTypeOf<
    RequestDecision<'default'> | undefined
  >()
  expectTypeOf(rateLimit({ name: 'a', quota: perMinute(1) }).decisionOf).returns.toEqualTypeOf<
    RequestDecision<'a'> | undefined
  >()
  const options: RateLimitOptions = { name: 'a', quota: perMinute(1) }
  expectTypeOf(rateLimit(options).decisionOf).returns.toEqualTypeOf<RequestDecision | undefined>()
})

test('invalid options neither compile nor run', () => {
  // @ts-expect-error: no such option
  expect(() => rateLimit({ quota: perMinute(1), windowMs: 60_000 })).toThrow('has no option "windowMs"')
  // @ts-expect-error: no such selector
  expect(() => rateLimit({ quota: perMinute(1), key: 'adress' })).toThrow('key knows the selectors')
  // @ts-expect-error: a number does not say how long it holds
  expect(() => rateLimit({ quota: 100 })).toThrow('quota must be built by')
  // @ts-expect-error: no policy beside policies
  expect(() => rateLimit({ policies: [{ quota: perMinute(1) }], key: 'ip' })).toThrow('has no option "key"')
  // @ts-expect-error: no such form of headers
  expect(() => rateLimit({ quota: perMinute(1), headers: 'legacy' })).toThrow("'legacy' is ambiguous")
})

// Users write `store: production ? redisStore(redis) : undefined`, which did not compile beside a quota.
test('an undefined store is the default of a limiter and of its policies', async () => {
  const [production, quota]: [boolean, Quota] = [false, perMinute(1)]
  const store = production ? memoryStore() : undefined
  for (const limiter of [rateLimit({ quota, store }), rateLimit({ policies: [{ name: 'a', quota, store }], store })]) {
    const app = express().use(limiter, (_, res) => res.send('ok'))
    const statuses = [(await request(app).get('/')).status, (await request(app).get('/')).status]
    expect(statuses).toEqual([200, 429])
  }
})
