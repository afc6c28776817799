import { fileURLToPath } from 'node:url'
import { durableObjectStore } from '@spillway/cloudflare'
import { type Decision, perMinute, rateLimiter } from '@spillway/core'
import { afterAll, expect, test, vi } from 'vitest'
import { outcomeAt, testsAt } from '../../../test/services/elsewhere.ts'
import { startWorker } from '../../../test/services/workerd.ts'

const worker = await startWorker(fileURLToPath(new URL('worker.ts', import.meta.url)), {
  durableObjects: { RATE_LIMITS: 'Watched' },
})
afterAll(() => worker.stop())

test.each(await testsAt(worker.url))('%s', async (name) => {
  expect(await outcomeAt(worker.url, name)).toBe('passed')
})

const call = async (path: string): Promise<Decision> => (await fetch(worker.url + path)).json() as Promise<Decision>
const consume = (): Promise<Decision> => call('/alice')

test('admits exactly the limit of concurrent requests, and keeps the count after a crash', async () => {
  const decisions = await Promise.all(Array.from({ length: 30 }, consume))
  expect(decisions.filter(({ allowed }) => allowed).length).toBe(10)
  await worker.restart()
  const { allowed, remaining } = await consume()
  expect([allowed, remaining]).toEqual([false, 0])
})

// Reproduces: the runtime ended the request with its response, and the units of a denied request stayed consumed.
test('refunds what an object takes after the response', async () => {
  await call('/hold')
  expect((await call('/consume')).degraded).toEqual({ reason: 'timeout', action: 'deny' })
  await call('/release')
  await vi.waitFor(async () => expect((await call('/peek')).remaining).toBe(10))
})

test.each([0, -1, 1.5, Number.NaN, '4'])('rejects %s shards', (shards) => {
  const namespace = {
    idFromName: () => undefined,
    get: () => ({ take: undefined, takeEach: undefined, forget: undefined, deleteAll: undefined }),
  }
  expect(() => durableObjectStore(namespace, { shards: shards as number })).toThrow(/shards must be a whole number/)
})

test('two limiters of one name in one namespace have one quota', () => {
  const namespace = {
    idFromName: () => undefined,
    get: () => ({ take: undefined, takeEach: undefined, forget: undefined, deleteAll: undefined }),
  }
  rateLimiter({ quota: perMinute(100), store: durableObjectStore(namespace) })
  const strict = (options?: object) =>
    rateLimiter({ quota: perMinute(5), store: durableObjectStore(namespace, options) })
  expect(() => strict()).toThrow('two limiters on one database are named "default"')
  strict({ shards: 4 })
})

test.each([undefined, null, 'RATE_LIMITS', {}])('rejects the namespace %j', (namespace) => {
  expect(() => durableObjectStore(namespace as never)).toThrow(/needs a binding to Durable Objects/)
})
