import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { describe, expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

// Elysia before 1.4.30 ran the hooks of a route without a handler when it was added, with a request that it made up, which was counted:
// twice for each route. On Bun, such a route was then answered without its hooks, and never limited.
const routes: Readonly<Record<string, (app: Elysia) => unknown>> = {
  'a text': (app) => app.get('/x', 'text'),
  'a response': (app) => app.get('/x', new Response('text')),
  'a group': (app) => app.group('/x', (group) => group.get('', 'text')),
  'all methods': (app) => app.all('/x', 'text'),
  'a guard': (app) => app.guard({}, (inner) => inner.get('/x', new Response('text'))),
}
const limitOf = (onKey = () => {}) =>
  rateLimit({
    quota: perMinute(2),
    key: () => {
      onKey()
      return 'ann'
    },
  })

describe.each(Object.entries(routes))('a route without a handler: %s', (_, add) => {
  test.each([{}, { aot: false }, { precompile: true }])('is limited: %o', async (config) => {
    const app = new Elysia(config).use(limitOf())
    add(app as never)
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await app.handle(new Request('http://localhost/x'))).status)
    expect(statuses).toEqual([200, 200, 429, 429])
  })

  test.each([{}, { adapter: node() }])('counts nothing when it is added: %o', (config) => {
    let keys = 0
    add(new Elysia(config).use(limitOf(() => keys++)) as never)
    expect(keys).toBe(0)
  })

  // Elysia passes `router.response` to Bun, which answers these paths by itself.
  test.each(['before', 'after'])('is not answered by Bun itself if it is added %s the limiter', (order) => {
    const app = new Elysia()
    if (order === 'before') add(app)
    app.use(limitOf())
    if (order === 'after') add(app)
    expect(app.router.response).toEqual({})
  })
})
