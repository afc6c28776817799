import type { RequestDecision } from '@spillway/core/http'
import { Elysia } from 'elysia'
import { expect, expectTypeOf, test } from 'vitest'
import { decisionOf, perDay, perSecond, type RequestContext, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: ({ request }) => request.url },
    { name: 'tokens', quota: perDay(1_000), settle: (response) => Number(response.headers.get('x-tokens')) },
  ],
  onDenied: (context, { policy }) => {
    expectTypeOf(context).toEqualTypeOf<RequestContext>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

test('a limiter has the names of its policies as types, and the app keeps its own', async () => {
  const app = new Elysia()
    .decorate('version', 1)
    .use(limit)
    .get('/', ({ request, version }) => {
      expectTypeOf(version).toEqualTypeOf<number>()
      expectTypeOf(decisionOf(request)).toEqualTypeOf<RequestDecision | undefined>()
      const decision = limit.decisionOf(request)
      expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
      // @ts-expect-error: there is no such policy
      decision?.settle(5, 'token').catch(() => {})
      return [decision === decisionOf(request), decision?.policy satisfies 'burst' | 'tokens' | undefined]
    })
  expect(await (await app.handle(new Request('http://localhost/'))).json()).toEqual([true, 'burst'])
})
