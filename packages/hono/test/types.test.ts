import type { RequestDecision } from '@spillway/core/http'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { expect, expectTypeOf, test } from 'vitest'
import { perDay, perSecond, rateLimit } from '../src/index.ts'

// The compiler checks these: a line that must not compile says so, and fails the type check if it does.

const limit = rateLimit({
  policies: [
    { name: 'burst', quota: perSecond(10), key: (c) => c.req.header('x-user') ?? 'guest' },
    { name: 'tokens', quota: perDay(1_000), settle: (c) => Number(c.res.headers.get('x-tokens')) },
  ],
  onDenied: (c, { policy }) => {
    expectTypeOf(c).toEqualTypeOf<Context>()
    expectTypeOf(policy).toEqualTypeOf<'burst' | 'tokens' | 'burst (blocked)' | 'tokens (blocked)'>()
    // @ts-expect-error: there is no such policy
    return policy === 'bursts' ? { status: 503 } : undefined
  },
})

type Named = RequestDecision<'burst' | 'tokens'> | undefined

test('a limiter and later handlers have the names of its policies as types', async () => {
  const app = new Hono<{ Bindings: { readonly SECRET: string } }>().use(limit).get('/', (c) => {
    expectTypeOf(c.get('rateLimit')).toEqualTypeOf<Named>()
    expectTypeOf(limit.decisionOf(c)).toEqualTypeOf<Named>()
    const decision = limit.decisionOf(c)
    // @ts-expect-error: there is no such policy
    decision?.settle(5, 'token').catch(() => {})
    return c.json([limit.decisionOf(c) === c.get('rateLimit'), c.get('rateLimit')?.policy ?? ''])
  })
  expect(await (await app.request('/')).json()).toEqual([true, 'burst'])
})

// Its context had to have the decision already: no middleware could call a limiter.
test('other middleware may call a limiter, whatever variables and bindings the app has', async () => {
  type Env = { Bindings: { SECRET: string }; Variables: { user: { id: string } } }
  const handler: MiddlewareHandler<Env> = limit
  const app = new Hono<Env>().use((c, next) => (c.req.path === '/health' ? next() : limit(c, next)), handler)
  new Hono().use((c, next) => limit(c, next)).get('/:id', limit, (c) => c.text(c.req.param('id')))
  app.get('/', (c) => c.text(c.get('rateLimit')?.policy ?? ''))
  expect(await (await app.request('/')).text()).toBe('burst')
  expect((await app.request('/health')).headers.get('ratelimit')).not.toBeNull()
})

test('outside one chain, a decision is typed, and its policies are strings', async () => {
  const app = new Hono()
  app.use(limit)
  app.get('/', (c) => {
    expectTypeOf(c.get('rateLimit')).toEqualTypeOf<RequestDecision | undefined>()
    return c.text(c.get('rateLimit')?.policy ?? '')
  })
  expect(await (await app.request('/')).text()).toBe('burst')
})

// Reproduces a bug: the context of functions was that of any app, so that a misspelt variable was undefined, a key for all.
test('functions of options know the variables and bindings of the app, once one of them names these', () => {
  type Env = { Bindings: { SECRET: string }; Variables: { account: string } }
  const quota = perSecond(1)
  const named = rateLimit({
    policies: [
      { name: 'first', quota, key: (c: Context<Env>) => c.get('account') },
      // @ts-expect-error: there is no such variable
      { name: 'second', quota, key: (c) => c.get('acount') },
    ],
    // @ts-expect-error: there is no such variable
    skip: (c) => c.get('acount') === 'ann' || c.env.SECRET === '',
    onDenied: (c, { policy }) => c.text(`${policy} ${c.get('account')}`),
  })
  expectTypeOf(named.decisionOf).returns.toEqualTypeOf<RequestDecision<'first' | 'second'> | undefined>()
  // @ts-expect-error: there is no such variable
  rateLimit<'default', Env>({ quota, key: (c) => c.get('acount') })
  rateLimit({ quota, key: (c) => c.get('whatever') })
  new Hono<Env>().use(named).get('/', named, (c) => c.text(c.get('account')))
})

test('what is misspelt in a second policy is an error where it is', () => {
  const misspelt = () => [
    rateLimit({
      policies: [
        { name: 'first', quota: perSecond(1) },
        // @ts-expect-error: there is no such option
        { name: 'second', quota: perSecond(1), mtch: { path: '/' } },
      ],
    }),
    rateLimit({
      policies: [
        { name: 'first', quota: perSecond(1), settle: () => 5 },
        // @ts-expect-error: there is no such condition
        { name: 'second', quota: perSecond(1), match: { pth: '/' } },
      ],
    }),
  ]
  expect(misspelt).toThrow('mtch')
})
