import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { app } from './main.ts'

let server: Server
let url: string

beforeAll(async () => {
  server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`
})

afterAll(() => void server.close())

const login = (user: string, password: string, cookie = ''): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ user, password }),
  })

test('successful logins are refunded', async () => {
  for (let i = 0; i < 8; i++) {
    await vi.waitFor(async () => expect((await login('alice', 'correct horse')).status).toBe(200), { timeout: 60_000 })
  }
})

test('strangers run out of tries in every spelling of the name, and the owner does not', async () => {
  const refunded = new Promise((resolve) => {
    server.once('request', (_req, res) => res.once('close', () => setImmediate(resolve)))
  })
  const device = (await login('alice', 'correct horse')).headers.get('set-cookie')?.split(';')[0]
  await refunded
  const guesses = ['alice', 'ALICE', ' alice ', 'Alice', 'alice', 'alice', 'alice'].map((user, i) =>
    login(user, `guess ${i}`),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(5)

  const denied = await login('alice', 'correct horse')
  expect(denied.status).toBe(429)
  expect(denied.headers.get('retry-after')).toBe('900')
  expect(await denied.json()).toMatchObject({
    type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    'violated-policies': ['account'],
  })

  expect((await login('alice', 'correct horse', device)).status).toBe(200)
  expect((await login('alice', 'correct horse', 'device=alice.forged')).status).toBe(429)
})

test('an address can try at most 30 names', async () => {
  const statuses = await Promise.all(Array.from({ length: 40 }, async (_, i) => (await login(`user-${i}`, 'x')).status))
  expect(statuses).toContain(429)
})
