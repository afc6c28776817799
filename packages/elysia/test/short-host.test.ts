import { once } from 'node:events'
import { request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { node } from '@elysiajs/node'
import { type AnyElysia, Elysia } from 'elysia'
import { expect, test } from 'vitest'
import { perMinute, rateLimit } from '../src/index.ts'

const skipping = (app: AnyElysia): AnyElysia =>
  app
    .use(rateLimit({ quota: perMinute(1), key: () => 'ann', skip: { path: '/public/*' } }))
    .post('/login', () => 'ok')
    .get('/public/logo', () => 'ok')

// Reproduces a bug: Elysia looks for the path behind the shortest usual host name, so that `Host: a` takes a segment from it.
// `POST /public/login` ran `/login`, and was skipped as a path below `/public`.
test.each([true, false])('counts the route that runs, whatever the host; aot: %s', async (aot) => {
  const app = skipping(new Elysia({ aot }))
  const statusOf = async (url: string, method: string): Promise<number> =>
    (await app.handle(new Request(url, { method }))).status
  for (const expected of [200, 429]) expect(await statusOf('http://a/public/login', 'POST')).toBe(expected)
  for (let i = 0; i < 2; i++) expect(await statusOf('http://localhost/public/logo', 'GET')).toBe(200)
})

test('counts the route that runs on the Node server, whatever the host', async () => {
  const app = skipping(new Elysia({ adapter: node() }))
  const server = await new Promise<Server>((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, (running) =>
      resolve((running as unknown as { readonly node: { readonly server: Server } }).node.server),
    )
  })
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const statuses: (number | undefined)[] = []
  for (let i = 0; i < 2; i++) {
    const options = { port, method: 'POST', path: '/public/login', headers: { host: 'a' }, agent: false }
    const [response] = await once(request({ host: '127.0.0.1', ...options }).end(), 'response')
    statuses.push(response.resume().statusCode)
  }
  server.closeAllConnections()
  server.close()
  expect(statuses).toEqual([200, 429])
})
