import * as forElysia from '@spillway/elysia'
import * as forFastify from '@spillway/fastify'
import * as forHono from '@spillway/hono'
import { perMinute } from '@spillway/memory'
import { Elysia } from 'elysia'
import fastify from 'fastify'
import { Hono } from 'hono'
import { expect, test } from 'vitest'

// Such a policy applied to no request, without a word.

type Options = forHono.RateLimitOptions
type Send = (path: string) => Promise<unknown>

/** Apps of which a limiter is mounted below `/api`. */
const apps: Readonly<Record<string, (options: Options) => Send>> = {
  'route of Hono': (options) => {
    const inner = new Hono().use(forHono.rateLimit(options)).get('*', (c) => c.text('ok'))
    const app = new Hono().route('/api', inner)
    return async (path) => app.request(path)
  },
  'use of Hono': (options) => {
    const app = new Hono().use('/api/*', forHono.rateLimit(options)).get('*', (c) => c.text('ok'))
    return async (path) => app.request(path)
  },
  'use of Hono, with a parameter': (options) => {
    const app = new Hono().use('/:version/*', forHono.rateLimit(options)).get('*', (c) => c.text('ok'))
    return async (path) => app.request(path)
  },
  'register of Fastify': (options) => {
    const app = fastify()
    app.register(
      (api, _, done) => {
        api.addHook('onRequest', forFastify.rateLimit(options as never))
        api.get('/*', async () => 'ok')
        done()
      },
      { prefix: '/api' },
    )
    return (path) => app.inject(path)
  },
  'the prefix of Elysia': (options) => {
    const app = new Elysia({ prefix: '/api' }).use(forElysia.rateLimit(options as never)).get('*', () => 'ok')
    return async (path) => app.handle(new Request(`http://localhost${path}`))
  },
}

test.each(Object.entries(apps))('warns once of a path without the prefix of %s', async (_, build) => {
  const warningsOf = async (option: 'match' | 'skip', pattern: string, path: string): Promise<readonly string[]> => {
    const warnings: string[] = []
    const logger = { warn: (message: string) => warnings.push(message) }
    const send = build({ quota: perMinute(9), key: () => 'ann', logger, [option]: { path: pattern } })
    for (let i = 0; i < 2; i++) await send(path)
    return warnings
  }
  for (const option of ['match', 'skip'] as const) {
    expect(await warningsOf(option, '/login', '/api/login')).toEqual([
      expect.stringContaining(`${option}.path matches the path of a request below`),
    ])
    for (const [pattern, path] of [
      ['/api/login', '/api/login'],
      ['/api/*', '/api/login'],
      ['/login', '/api/other'],
      ['/login', '/api'],
    ] as const) {
      expect(await warningsOf(option, pattern, path), `${pattern} ${path}`).toEqual([])
    }
  }
})

test('does not warn of a limiter that is not mounted below a prefix', async () => {
  const warnings: string[] = []
  const logger = { warn: (message: string) => warnings.push(message) }
  const options = { quota: perMinute(9), key: () => 'ann', logger, match: { path: '/login' } }
  const onHono = new Hono().use(forHono.rateLimit(options))
  onHono.get('/api/login', (c) => c.text('ok')).get('/x/login', forHono.rateLimit(options), (c) => c.text('ok'))
  const onFastify = fastify().addHook('onRequest', forFastify.rateLimit(options))
  const onElysia = new Elysia().use(forElysia.rateLimit(options)).get('/api/login', () => 'ok')
  for (const path of ['/api/login', '/x/login', '/login']) {
    await onHono.request(path)
    await onFastify.inject(path)
    await onElysia.handle(new Request(`http://localhost${path}`))
  }
  expect(warnings).toEqual([])
})
