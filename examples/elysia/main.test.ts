import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { app } from './main.ts'

let server: Server
let url: string

beforeAll(async () => {
  server = await new Promise<Server>((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, (running) =>
      resolve((running as unknown as { readonly node: { readonly server: Server } }).node.server),
    )
  })
  if (!server.listening) await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test('reports the remaining units to each client', async () => {
  const response = await fetch(url)
  expect([response.status, await response.text()]).toEqual([200, '99 requests left\n'])
  expect(response.headers.get('ratelimit-policy')).toBe('"requests";q=100;w=60')
})

test('counts logins that fail validation, and denies the sixth', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"name":"ann"}' }
    statuses.push((await fetch(`${url}/login`, init)).status)
  }
  expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
})
