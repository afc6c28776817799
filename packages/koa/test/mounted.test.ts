import { createServer } from 'node:http'
import { sendTo } from '@spillway/conformance'
import Koa, { type Middleware } from 'koa'
import { expect, test, vi } from 'vitest'
import { perMinute, type RateLimitOptions, rateLimit } from '../src/index.ts'

/** Takes a prefix away and puts it back as koa-mount 4.2 does: the path is restored for what follows, `mountPath` never. */
const mount =
  (prefix: string, inner: Middleware): Middleware =>
  async (ctx, next) => {
    const { path } = ctx
    if (path !== prefix && !path.startsWith(`${prefix}/`)) return next()
    ctx['mountPath'] = prefix
    ctx.path = path.slice(prefix.length) || '/'
    const below = ctx.path
    await inner(ctx, async () => {
      ctx.path = path
      await next()
      ctx.path = below
    })
    ctx.path = path
  }

const passThrough: Middleware = (_, next) => next()

const rewrite =
  (from: string, to: string): Middleware =>
  (ctx, next) => {
    ctx.path = ctx.path.replace(from, to)
    return next()
  }

/** An app whose limiter is behind other middleware, and what it has logged. */
async function appOf(options: Partial<RateLimitOptions>, ...before: readonly Middleware[]) {
  const logger = { warn: vi.fn() }
  const app = new Koa()
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', logger, ...options } as RateLimitOptions)
  for (const each of [...before, limit]) app.use(each)
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  const send = await sendTo(createServer(app.callback()))
  const statusesOf = async (...paths: readonly string[]): Promise<readonly number[]> => {
    const statuses: number[] = []
    for (const path of paths) statuses.push((await send({ path })).status)
    return statuses
  }
  return { statusesOf, logger }
}

// Reproduces a bug: the prefix stood before the restored path once more, so that the policy for the path never applied, and
// the warning asked for the prefix that it had.
test.each<[string, readonly Middleware[], string]>([
  ['a mount', [mount('/api', passThrough)], '/api/login'],
  ['nested mounts', [mount('/v1', mount('/api', passThrough))], '/v1/api/login'],
  [
    'a mount of the path that another has rewritten',
    [rewrite('/old', '/api'), mount('/api', passThrough)],
    '/old/login',
  ],
  [
    'nested mounts of the path that another has rewritten',
    [rewrite('/old', '/v1'), mount('/v1', mount('/api', passThrough))],
    '/old/api/login',
  ],
])('applies to the whole path behind %s that passes requests on', async (_, before, requested) => {
  const path = requested.replace('/old/api', '/v1/api').replace('/old', '/api')
  const { statusesOf, logger } = await appOf({ match: { path } }, ...before)
  expect(await statusesOf(requested, requested)).toEqual([200, 429])
  expect(logger.warn).not.toHaveBeenCalled()
})

test('applies in a mount behind one that has passed the request on', async () => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', match: { path: '/v1/api/login' } })
  const inner: Middleware = (ctx, next) => mount('/api', passThrough)(ctx, () => limit(ctx, next) as Promise<void>)
  const { statusesOf } = await appOf({ match: { path: '/none' } }, mount('/v1', inner))
  expect(await statusesOf('/v1/api/login', '/v1/api/login')).toEqual([200, 429])
})

test('applies to no other path behind a mount that passes requests on', async () => {
  const { statusesOf } = await appOf({ match: { path: '/api/:resource/:id' } }, mount('/api', passThrough))
  expect(await statusesOf('/api/users', '/api/users', '/api/users/1', '/api/users/2')).toEqual([200, 200, 200, 429])
})

test('skips the whole path behind a mount that passes requests on', async () => {
  const { statusesOf, logger } = await appOf({ skip: { path: '/api/health' } }, mount('/api', passThrough))
  expect(await statusesOf('/api/health', '/api/health', '/api/login', '/api/login')).toEqual([200, 200, 200, 429])
  expect(logger.warn).not.toHaveBeenCalled()
})

test('skips the whole path in nested mounts', async () => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', skip: { path: '/v1/api/health' } })
  const { statusesOf } = await appOf({ match: { path: '/none' } }, mount('/v1', mount('/api', limit as Middleware)))
  const paths = ['/v1/api/health', '/v1/api/health', '/v1/api/login', '/v1/api/login']
  expect(await statusesOf(...paths)).toEqual([200, 200, 200, 429])
})

// What a rewriting middleware adds and a mount takes away is a part of the whole path.
test('applies to the whole path of a mount whose prefix another middleware has added', async () => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', match: { path: '/api/login' } })
  const before = [rewrite('/', '/api/'), mount('/api', limit as Middleware)]
  const { statusesOf } = await appOf({ match: { path: '/none' } }, ...before)
  expect(await statusesOf('/login', '/login')).toEqual([200, 429])
})
