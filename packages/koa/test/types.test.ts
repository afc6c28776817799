import type { RequestDecision } from '@spillway/core/http'
import Koa, { type Context } from 'koa'
import request from 'supertest'
import { expect, expectTypeOf, test } from 'vitest'
import { perDay, perSecond, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (ctx) => ctx.ip },
    { name: 'tokens', quota: perDay(1_000), settle: (ctx) => ctx.response.length },
  ],
  onDenied: (ctx, { policy }) => {
    expectTypeOf(ctx).toEqualTypeOf<Context>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

test('a limiter has the names of its policies as types', async () => {
  const app = new Koa()
  app.use(limit)
  app.use((ctx) => {
    expectTypeOf(ctx.state.rateLimit).toEqualTypeOf<RequestDecision | undefined>()
    const decision = limit.decisionOf(ctx)
    expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    ctx.body = [decision === ctx.state.rateLimit, decision?.policy satisfies 'burst' | 'tokens' | undefined]
  })
  expect((await request(app.callback()).get('/')).body).toEqual([true, 'burst'])
})
