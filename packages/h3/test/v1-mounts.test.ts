import { createServer } from 'node:http'
import { sendTo } from '@spillway/conformance'
import { type App, createApp, eventHandler, toNodeListener } from 'h3-1'
import { describe, expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/v1/index.ts'

// Reproduces a bug: h3 1 mounts by the text of a path, so that `/login~1` reached what is mounted at `/login`, and a policy for
// `/login/*` did not apply.

const handler = eventHandler(() => 'ok')
const sendToApp = (app: App) => sendTo(createServer(toNodeListener(app)))
const common = { quota: perMinute(1_000), key: () => 'ann' }

const texts = ['', '/', '/1', '//', '~1', '1', '.json', '%7e', '%zz', '%2f1', ';a', '#', '%3f', '?a=1', '\\1']

describe('a policy for all below a mount', () => {
  test.each([
    ['/login', '/login/*', '/login'],
    ['/login', '/login/**', '/login%2e'],
    ['/api/login', '/api/login/*', '/%61pi/login'],
    ['/api', '/api/*', '/api'],
  ])('at %s, %s, counts each path that reaches it', async (mount, path, base) => {
    const limit = rateLimit({ ...common, match: { path } })
    const send = await sendToApp(createApp().use(limit).use(mount, handler))
    for (const text of texts) {
      const { status, headers } = await send({ path: `${base}${text}` })
      // h3 1.8 decodes no path, and later versions none that is invalid.
      if (!base.includes('%')) expect([text, status]).toEqual([text, 200])
      if (status === 200) expect([text, headers.ratelimit]).toEqual([text, expect.stringContaining('"default"')])
    }
  })

  test('in a mounted app', async () => {
    const limit = rateLimit({ ...common, match: { path: '/v1/login/*' } })
    const inner = createApp().use(limit).use('/login', handler)
    const send = await sendToApp(createApp().use('/v1', inner.handler))
    for (const text of texts) expect((await send({ path: `/v1/login${text}` })).headers).toHaveProperty('ratelimit')
  })

  test('does not count what is not mounted there', async () => {
    const limit = rateLimit({ ...common, match: { path: ['/api/login/*', '/users/:id/x/*'] } })
    const send = await sendToApp(createApp().use(limit).use(handler))
    for (const path of ['/api', '/api/log', '/api~/login', '/x/api/login', '/users/x', '/users1/7/x']) {
      expect([path, (await send({ path })).headers.ratelimit]).toEqual([path, undefined])
    }
  })
})

test('a policy for one path does not count others', async () => {
  const limit = rateLimit({ ...common, match: { path: '/login' } })
  const send = await sendToApp(createApp().use(limit).use(handler))
  expect((await send({ path: '/login~1' })).headers).not.toHaveProperty('ratelimit')
})

test('does not skip what only begins as a path', async () => {
  const limit = rateLimit({ ...common, skip: { path: '/public/*' } })
  const send = await sendToApp(createApp().use(limit).use(handler))
  expect((await send({ path: '/public/a' })).headers).not.toHaveProperty('ratelimit')
  expect((await send({ path: '/public~/a' })).headers).toHaveProperty('ratelimit')
})

test.each([
  ['/login/1', 'login'],
  ['/login~1', 'login'],
  ['/login-admin/1', 'admin'],
  ['/other', 'rest'],
])('of tiers, %s counts for %s', async (path, tier) => {
  const policies = [
    { ...common, name: 'login', tiers: 'route', match: { path: '/login/*' } },
    { ...common, name: 'admin', tiers: 'route', match: { path: '/login-admin/*' } },
    { ...common, name: 'rest', tiers: 'route' },
  ] as const
  const send = await sendToApp(createApp().use(rateLimit({ policies })).use(handler))
  expect((await send({ path })).headers.ratelimit).toContain(`"${tier}"`)
})
