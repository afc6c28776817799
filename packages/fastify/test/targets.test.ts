import { sendTo } from '@spillway/conformance'
import { fastifyPath } from '@spillway/core/http'
import fastify, { type FastifyServerOptions } from 'fastify'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

const settings = [{}, { routerOptions: { useSemicolonDelimiter: true } }] as readonly FastifyServerOptions[]

// The router does not compare the first character of a target: `*login` ran the handler of `/login`, and was not counted.
test.each(settings)('counts each target that the router leads to a route, with %o', async (setting) => {
  for (const target of ['/login', '*login', '*login?x', 'http://a/login', 'HTTPS://a/login#x', '?login', ';login']) {
    const app = fastify({ ...setting })
    app.addHook('onRequest', rateLimit({ quota: perMinute(1), key: () => 'ann', match: { path: '/login' } }))
    app.get('/login', async () => 'ok')
    await app.ready()
    const send = await sendTo(app.server)
    const { status, headers } = await send({ path: target })
    if (status === 200) expect(headers['ratelimit'], target).toBe('"default";r=0;t=60')
  }
})

// Nest 10 has such a router, and so does Fastify 5.0 with the dependencies of its time.
test('reads a whole URL as older routers do, too', () => {
  expect(fastifyPath({ url: 'http://a?b/login' })).toEqual(['/', '/login'])
  expect(fastifyPath({ url: 'http://a/login?b/c' })).toEqual(['/login', '/login'])
})

// Reproduces a bug: of the readings `/` and `/public/`, the router's own was dropped, because the other ends with it.
test('skips no request whose target only older routers lead to a skipped path', async () => {
  const app = fastify()
  app.addHook('onRequest', rateLimit({ quota: perMinute(1), key: () => 'ann', skip: { path: '/public/*' } }))
  app.get('/', async () => 'root').get('/public/', async () => 'public')
  await app.ready()
  const send = await sendTo(app.server)
  const answers = async (path: string) => {
    const { status, body } = await send({ path })
    return [status, body]
  }
  for (let i = 0; i < 2; i++) expect(await answers('http://a/public/?b')).toEqual([200, 'public'])
  // Routers of older versions lead it to `/public/`.
  const [status, body] = await answers('http://a?b/public/')
  if (body === 'root') expect([status, (await answers('http://a?b/public/'))[0]]).toEqual([200, 429])
})
