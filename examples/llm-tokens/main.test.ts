import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { app } from './main.ts'

let server: ServerType
let url: string

beforeAll(async () => {
  server = await new Promise((resolve) => {
    const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/chat`
})

afterAll(() => void server.close())

const chat = (key: string, prompt: string, max_tokens: number, signal?: AbortSignal): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt, max_tokens }),
    signal: signal ?? null,
  })

const left = (response: Response): number => Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1])

test('consumes the cost of the longest answer, and settles to the actual one', async () => {
  const first = await chat('alice', 'say it briefly!!', 6_000)
  expect(left(first)).toBe(10_000 - 4 - 6_000)
  expect((await first.text()).length).toBe(50)
  // 4 for the prompt and 10 for the answer. In a second 166 tokens refill.
  await vi.waitFor(async () => {
    const next = await chat('alice', 'say it briefly!!', 6_000)
    await next.text()
    expect(next.status).toBe(200)
  })
})

test('denies what exceeds the remaining units, and what can never fit', async () => {
  const denied = await Promise.all([chat('bob', 'at length', 6_000), chat('bob', 'at length', 6_000)])
  expect(denied.map(({ status }) => status).sort()).toEqual([200, 429])
  const never = await chat('bob', 'at length', 20_000)
  expect([never.status, never.headers.get('retry-after')]).toEqual([429, null])
  await Promise.all([...denied, never].map((response) => response.text()))
})

test('charges a client that disconnects for the tokens that were sent until then', async () => {
  const controller = new AbortController()
  const response = await chat('carol', 'tell me everything', 9_000, controller.signal)
  expect(left(response)).toBe(995)
  const reader = response.body?.getReader()
  await reader?.read()
  controller.abort()
  await vi.waitFor(async () => {
    const next = await chat('carol', 'say it briefly', 8_000)
    await next.text()
    expect(next.status).toBe(200)
  })
})
