import type { Server } from 'node:http'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { describe, expect, test } from 'vitest'
import { shed } from '../src/elysia.ts'
import { shedder } from '../src/index.ts'
import { priority, testShed, until } from './stories.ts'

testShed('on Node', async (overload, handle) => {
  const app = new Elysia({ adapter: node() })
  app.use(shed({ shedder: overload, priority: ({ headers }) => priority(headers.get('x-priority')) }))
  app.get('/', async () => await handle())
  return new Promise<Server>((resolve) => {
    app.listen({ port: 0, hostname: '127.0.0.1' }, (running) =>
      resolve((running as unknown as { readonly node: { readonly server: Server } }).node.server),
    )
  })
})

describe('as in Bun and Workers', () => {
  const request = (init?: RequestInit) => new Request('http://localhost/', init)

  test('the permit of a stream ends when it has been read, or cancelled', async () => {
    const limit = shed({ limit: 2 })
    const app = new Elysia().use(limit)
    app.get(
      '/',
      () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(9)) })),
    )
    const response = await app.handle(request())
    expect(limit.shedder.stats().inFlight).toBe(1)
    await response.body?.cancel()
    await until(() => limit.shedder.stats().inFlight === 0)
  })

  test('that of a client that leaves, and of a handler that throws', async () => {
    const limit = shed({ limit: 1, queue: 0 })
    const app = new Elysia().use(limit).get('/', () => new Promise<string>(() => {}))
    app.get('/broken', () => Promise.reject(new Error('broken')))
    const controller = new AbortController()
    void app.handle(request({ signal: controller.signal }))
    await until(() => limit.shedder.stats().inFlight === 1)
    const denied = await app.handle(request())
    expect([denied.status, denied.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
    controller.abort()
    expect(limit.shedder.stats().inFlight).toBe(0)
    expect((await app.handle(new Request('http://localhost/broken'))).status).toBe(500)
    await until(() => limit.shedder.stats().inFlight === 0)
  })

  test('a plugin of a prefix and its app enter once', async () => {
    const limit = shed({ limit: 1, queue: 0 })
    const plugin = new Elysia({ prefix: '/g' }).use(limit).get('/x', () => 'ok')
    const app = new Elysia().use(limit).use(plugin)
    const response = await app.handle(new Request('http://localhost/g/x'))
    expect([response.status, await response.text()]).toEqual([200, 'ok'])
    expect(limit.shedder.stats().allowed).toBe(1)
    await until(() => limit.shedder.stats().inFlight === 0)
  })
})

test('where nothing would be shed, it says what to write', async () => {
  expect(() => new Elysia({ aot: false }).use(shed())).toThrow(/write shed\(\)\(app.fetch\)/)
  expect(() => shed()(undefined as never)).toThrow(/shed is called as \(app\)/)
  const overload = shedder()
  const plugin = () => new Elysia().use(shed({ shedder: overload })).get('/x', () => 'ok')
  const app = new Elysia().group('/g', (group) => group.use(plugin()))
  const response = await app.handle(new Request('http://localhost/g/x'))
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('for the app itself')])
  expect(overload.stats().allowed).toBe(0)
})
