import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { ask, story } from './adapters/story.ts'
import { outcomeAt, testsAt } from './services/elsewhere.ts'
import { startWorker } from './services/workerd.ts'

// Runs the suites and the story in the runtime of Cloudflare Workers.

const worker = await startWorker(fileURLToPath(new URL('runtimes/worker.ts', import.meta.url)))
afterAll(() => worker.stop())

test.each(await testsAt(worker.url))('%s', async (name) => {
  expect(await outcomeAt(worker.url, name)).toBe('passed')
})

describe.each(['Hono', 'fetch'])('%s', (app) => {
  test('has the same responses as all adapters, and counts clients by the address from Cloudflare', async () => {
    const from = (address: string) => ({ 'x-app': app, 'cf-connecting-ip': address })
    for (const { afterMs, request, weight, reported } of story) {
      const headers = { 'x-advance-ms': String(afterMs), ...(weight === undefined ? {} : { 'x-weight': weight }) }
      expect(await ask(worker.url, request, { headers: { ...from('192.0.2.1'), ...headers } }), request).toEqual(
        reported,
      )
    }
    expect((await ask(worker.url, 'GET /', { headers: from('192.0.2.1') })).limit).toBe('"app";r=4;t=10')
    expect((await ask(worker.url, 'GET /', { headers: from('192.0.2.2') })).limit).toBe('"app";r=5;t=10')
  })
})

test('keeps time by a clock that stood still when the limiter was made', async () => {
  const headers = { 'x-app': 'plain', 'cf-connecting-ip': '192.0.2.1' }
  const [first, second] = [await ask(worker.url, 'GET /', { headers }), await ask(worker.url, 'GET /', { headers })]
  expect([first.status, first.limit, second.status]).toEqual([200, '"default";r=0;t=60', 429])
  expect(second.retry).toMatch(/^(60|59)$/)
})
