import type { RequestDecision } from '@spillway/core/http'
import fastify, { type FastifyRequest } from 'fastify'
import { expect, expectTypeOf, test } from 'vitest'
import { perDay, perSecond, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (request) => request.ip },
    { name: 'tokens', quota: perDay(1_000), settle: (reply) => reply.statusCode },
  ],
  onDenied: (request, { policy }) => {
    expectTypeOf(request).toEqualTypeOf<FastifyRequest>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

test('a limiter has the names of its policies as types', async () => {
  const app = fastify()
  app.addHook('onRequest', limit)
  app.get('/', async (request) => {
    expectTypeOf(request.rateLimit).toEqualTypeOf<RequestDecision | undefined>()
    const decision = limit.decisionOf(request)
    expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    return [decision === request.rateLimit, decision?.policy satisfies 'burst' | 'tokens' | undefined]
  })
  expect((await app.inject('/')).json()).toEqual([true, 'burst'])
  await app.close()
})
