import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type Shedder, shedder } from '../src/index.ts'

// One story in each framework: the limit is one, and a request ends when the test says so.

/** What a request is answered with, once the test says so: a text, or an error that the handler throws. */
export type Handle = () => Promise<string>

/** Makes an app that sheds, reads priorities of the header x-priority, and calls `handle`. A server may listen already. */
export type Make = (overload: Shedder, handle: Handle) => Promise<RequestListener | Server>

export const priority = (text: string | null | undefined): 'default' => (text || 'default') as 'default'

const open: Server[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

export async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setImmediate(resolve))
}

/** Tells the stories of a framework. */
export const testShed = (name: string, make: Make): void =>
  void describe(name, () => {
    async function start(overload: Shedder) {
      const running: { end: (text: string) => void; fail: (error: Error) => void }[] = []
      const handle: Handle = () => new Promise((end, fail) => void running.push({ end, fail }))
      const made = await make(overload, handle)
      const server = typeof made === 'function' ? createServer(made).listen(0, '127.0.0.1') : made
      open.push(server)
      if (!server.listening) await once(server, 'listening')
      return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, running }
    }

    test('drops what is beyond the limit, and ends each permit once', async () => {
      const overload = shedder({ limit: 1, queue: 0 })
      const { url, running } = await start(overload)
      const first = fetch(url)
      await until(() => running.length === 1)
      const denied = await fetch(url)
      expect(denied.status).toBe(503)
      expect(denied.headers.get('content-type')).toBe('application/problem+json')
      expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(await denied.json()).toMatchObject({ status: 503 })
      running[0]?.end('ok')
      expect(await (await first).text()).toBe('ok')
      await until(() => overload.stats().inFlight === 0)
      expect(overload.stats()).toMatchObject({ allowed: 1, dropped: { 'concurrency-limit': 1 } })
    })

    test('serves a request that waits, and forgets one whose client leaves', async () => {
      const overload = shedder({ limit: 1, interval: '1h' })
      const { url, running } = await start(overload)
      const first = fetch(url)
      await until(() => running.length === 1)
      const controller = new AbortController()
      const leaving = fetch(url, { signal: controller.signal }).catch(() => 'left')
      await until(() => overload.stats().queued === 1)
      const second = fetch(url)
      await until(() => overload.stats().queued === 2)
      controller.abort()
      expect(await leaving).toBe('left')
      await until(() => overload.stats().queued === 1)
      running[0]?.end('first')
      expect(await (await first).text()).toBe('first')
      await until(() => running.length === 2)
      running[1]?.end('second')
      expect(await (await second).text()).toBe('second')
      await until(() => overload.stats().inFlight === 0)
    })

    test('ends the permit of a handler that throws, and of a client that leaves', async () => {
      const overload = shedder({ limit: 1 })
      const { url, running } = await start(overload)
      const failed = fetch(url)
      await until(() => running.length === 1)
      running[0]?.fail(new Error('broken'))
      expect((await failed).status).toBe(500)
      await until(() => overload.stats().inFlight === 0)
      const controller = new AbortController()
      const left = fetch(url, { signal: controller.signal }).catch(() => 'left')
      await until(() => running.length === 2)
      controller.abort()
      expect(await left).toBe('left')
      await until(() => overload.stats().inFlight === 0)
    })

    test('a priority that does not exist fails the request, and holds nothing', async () => {
      const overload = shedder({ limit: 1 })
      const { url } = await start(overload)
      expect((await fetch(url, { headers: { 'x-priority': 'crucial' } })).status).toBe(500)
      expect(overload.stats().inFlight).toBe(0)
    })
  })
