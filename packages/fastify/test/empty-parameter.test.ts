import { type Send, sendTo } from '@spillway/conformance'
import fastify, { type FastifyServerOptions } from 'fastify'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

async function appWith(path: string, settings: FastifyServerOptions = {}): Promise<Send> {
  const app = fastify(settings)
  app.addHook(
    'onRequest',
    rateLimit({ quota: perMinute(1), key: () => 'ann', match: { path }, skip: { path: '/health' } }),
  )
  app.get(path, async () => 'ok')
  app.get('/health/', async () => 'ok')
  await app.ready()
  return sendTo(app.server)
}

// Reproduces a bug: Fastify leads `/users/` to `/users/:id`, with an empty parameter, and the policy did not apply.
test.each([
  ['/users/:id', '/users/'],
  ['/users/:id/posts/:post', '/users//posts/'],
  ['/:page', '/'],
])('counts a request to %s with empty parameters', async (route, path) => {
  const send = await appWith(route)
  expect([(await send({ path })).status, (await send({ path })).status]).toEqual([200, 429])
})

test('counts a request to a lenient router with an empty parameter', async () => {
  const send = await appWith('/users/:id', { ignoreDuplicateSlashes: true })
  expect([(await send({ path: '//users//' })).status, (await send({ path: '/users/' })).status]).toEqual([200, 429])
})

test('skips a path with a slash at its end', async () => {
  const send = await appWith('/*')
  for (let i = 0; i < 3; i++) expect((await send({ path: '/health/' })).status).toBe(200)
})
