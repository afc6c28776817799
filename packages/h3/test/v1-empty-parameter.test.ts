import { createServer } from 'node:http'
import { sendTo } from '@spillway/conformance'
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3-1'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/v1/index.ts'

// Reproduces a bug: h3 1 leads these paths to the route, with an empty parameter, and the policy did not apply.
test.each([
  ['/users/:id', '/users//'],
  ['/users/:id/login', '/users//login/'],
])('counts a request to %s with empty parameters', async (route, path) => {
  const limit = rateLimit({ quota: perMinute(1), key: () => 'ann', match: { path: route } })
  const router = createRouter().get(
    route,
    eventHandler(() => 'ok'),
  )
  const send = await sendTo(createServer(toNodeListener(createApp().use(limit).use(router))))
  expect([(await send({ path })).status, (await send({ path })).status]).toEqual([200, 429])
})
