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

// A slash at the end evaded the tier of the list by the one of its items.
test.each([
  ['/search/', 'list'],
  ['/search', 'list'],
  ['/search/5', 'item'],
])('counts %s by the tier %s, which has its path as it is', async (url, name) => {
  const app = fastify({ ignoreTrailingSlash: true } as FastifyServerOptions)
  const common = { key: () => 'ann', tiers: 'search' } as const
  const policies = [
    { ...common, name: 'item', quota: perMinute(1_000), match: { path: '/search/:id' } },
    { ...common, name: 'list', quota: perMinute(2), match: { path: '/search' } },
  ] as const
  app.addHook('onRequest', rateLimit({ policies }))
  app.get('/search', async () => 'list')
  app.get('/search/:id', async () => 'item')
  await app.ready()
  const send = await sendTo(app.server)
  expect((await send({ path: url })).headers.ratelimit).toContain(`"${name}"`)
})

test('counts a path with an empty parameter by the tier that has it if no other does', async () => {
  const app = fastify()
  const common = { key: () => 'ann', tiers: 'users' } as const
  const policies = [
    { ...common, name: 'user', quota: perMinute(2), match: { path: '/users/:id' } },
    { ...common, name: 'other', quota: perMinute(2), match: { path: '/other' } },
  ] as const
  app.addHook('onRequest', rateLimit({ policies }))
  app.get('/users/:id', async () => 'user')
  await app.ready()
  const send = await sendTo(app.server)
  expect((await send({ path: '/users/' })).headers.ratelimit).toContain('"user"')
})
