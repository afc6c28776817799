import type { RequestDecision } from '@spillway/core/http'
import { expect, expectTypeOf, test } from 'vitest'
import { decisionOf, perDay, perSecond, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (request) => request.url },
    { name: 'tokens', quota: perDay(1_000), settle: (response) => Number(response.headers.get('x-tokens')) },
  ],
  onDenied: (request, { policy }) => {
    expectTypeOf(request).toEqualTypeOf<Request>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

test('a limiter has the names of its policies as types', async () => {
  const app = limit((request: Request) => {
    expectTypeOf(decisionOf(request)).toEqualTypeOf<RequestDecision | undefined>()
    const decision = limit.decisionOf(request)
    expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    return Response.json([decision === decisionOf(request), decision?.policy satisfies 'burst' | 'tokens' | undefined])
  })
  expect(await (await app(new Request('http://localhost'))).json()).toEqual([true, 'burst'])
})
