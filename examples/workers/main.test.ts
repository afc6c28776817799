import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startWorker, type Worker } from '../../test/services/workerd.ts'

let worker: Worker

beforeAll(async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  worker = await startWorker(main, { durableObjects: { RATE_LIMITS: 'RateLimits' } })
})

afterAll(() => worker.stop())

/** A request as Cloudflare forwards it. */
const ask = (path: string, client: string): Promise<Response> =>
  fetch(`${worker.url}${path}`, { headers: { 'cf-connecting-ip': client } })

test('reports the remaining units to each client', async () => {
  for (const client of ['192.0.2.1', '192.0.2.2']) {
    const response = await ask('/', client)
    expect([response.status, await response.text()]).toEqual([200, '99 requests left\n'])
    expect(response.headers.get('ratelimit-policy')).toBe('"default";q=100;w=60')
  }
})

test('allows exactly the quota of concurrent requests', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => ask('/report?pages=10', '192.0.2.3')))
  expect(responses.filter(({ status }) => status === 200).length).toBe(5)
  expect(responses.filter(({ status }) => status === 429).length).toBe(15)
})

test('keeps the counts when the Worker restarts', async () => {
  expect(await (await ask('/report?pages=40', '192.0.2.4')).text()).toBe('40 pages, and 10 left\n')
  await worker.restart()
  const denied = await ask('/report?pages=20', '192.0.2.4')
  expect(denied.status).toBe(429)
  expect(await denied.json()).toMatchObject({ 'violated-policies': ['reports'] })
})

test('refunds a failed report after its response', async () => {
  const broken = await ask('/report?pages=50&topic=broken', '192.0.2.5')
  expect([broken.status, await broken.text()]).toEqual([500, 'no such topic yet\n'])
  await vi.waitFor(async () => expect((await ask('/report?pages=50', '192.0.2.5')).status).toBe(200))
})
