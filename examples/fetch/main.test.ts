import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import app from './main.ts'
import { GET } from './route.ts'

// This test runs on Node; `npm run test:runtimes` runs the same file on Bun, Deno and workerd.

let server: Server
let url: string

beforeAll(async () => {
  server = createServer(getRequestListener(app.fetch))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => void server.close())

test('reports the remaining units to each client', async () => {
  const response = await fetch(url)
  expect([response.status, await response.text()]).toEqual([200, 'requests: 99 left\n'])
  expect(response.headers.get('ratelimit-policy')).toBe('"default";q=100;w=60')
})

test('charges reports by their pages, within the limit of all requests', async () => {
  const response = await fetch(`${url}/report?pages=40`)
  expect(await response.text()).toBe('40 pages, and 10 left\n')
  expect(response.headers.get('ratelimit-policy')).toBe('"default";q=100;w=60, "reports";q=50;w=3600')
  const denied = await fetch(`${url}/report?pages=20`)
  expect(denied.status).toBe(429)
  expect(await denied.json()).toMatchObject({ 'violated-policies': ['reports'] })
})

test('a Next.js route counts the client that its host reports, and still gets its parameters', async () => {
  const ask = async (address: string) => {
    const headers = { 'x-forwarded-for': `made up, ${address}` }
    return (
      await GET(new Request('http://localhost/reports/7', { headers }), { params: Promise.resolve({ id: '7' }) })
    ).json()
  }
  expect([await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')]).toEqual([
    { id: '7', left: 99 },
    { id: '7', left: 98 },
    { id: '7', left: 99 },
  ])
})
