import type { RequestDecision } from '@spillway/core/http'
import { H3, type H3Event } from 'h3'
import { expect, expectTypeOf, test } from 'vitest'
import { perDay, perSecond, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (event) => event.req.headers.get('x-user') ?? 'guest' },
    { name: 'tokens', quota: perDay(1_000), settle: (event) => event.res.status ?? 200 },
  ],
  onDenied: (event, { policy }) => {
    expectTypeOf(event).toEqualTypeOf<H3Event>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

test('a limiter has the names of its policies as types', async () => {
  const app = new H3().use(limit).get('/', (event) => {
    expectTypeOf(event.context.rateLimit).toEqualTypeOf<RequestDecision | undefined>()
    const decision = limit.decisionOf(event)
    expectTypeOf(decision).toEqualTypeOf<RequestDecision<'burst' | 'tokens'> | undefined>()
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    return [decision === event.context.rateLimit, decision?.policy satisfies 'burst' | 'tokens' | undefined]
  })
  expect(await (await app.request('/')).json()).toEqual([true, 'burst'])
})
