import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fakeClock } from '@spillway/conformance'
import { rateLimit } from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { frameworks } from './adapters/apps.ts'
import type { Options } from './adapters/options.ts'

// What a body costs that does not say how long it is. A chunked body of 3 MB cost one unit.

let server: Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const bytes = { quota: perMinute(10_000), cost: 'header:content-length', maxCost: 1_000 } as const

async function listen(name: string): Promise<number> {
  const options = { ...bytes, name: 'app', store: memoryStore({ clock: fakeClock() }) }
  server = createServer(frameworks[name]?.(options as unknown as Options))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Sends a body, and reads how many units are left. */
function leftAfter(port: number, method: string, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, headers: { 'content-type': 'text/plain', ...headers } })
    sent.on('error', reject).on('response', (response) => {
      response.resume()
      const [, left] = /;r=(\d+)/.exec(String(response.headers.ratelimit)) ?? []
      resolve(Number(left))
    })
    sent.end(body)
  })
}

describe.each(Object.keys(frameworks))('cost by bytes, over a socket, %s', (name) => {
  test('a body costs its length, and one that hides its length costs the most', async () => {
    const port = await listen(name)
    const chunked = { 'transfer-encoding': 'chunked' }
    expect(await leftAfter(port, 'POST', { 'content-length': '300' }, 'x'.repeat(300))).toBe(9_700)
    expect(await leftAfter(port, 'POST', chunked, 'x'.repeat(300))).toBe(8_700)
    expect(await leftAfter(port, 'DELETE', chunked, 'x')).toBe(7_700)
    expect(await leftAfter(port, 'GET', {}, '')).toBe(7_699)
    expect(await leftAfter(port, 'POST', { 'content-length': '0' }, '')).toBe(7_698)
    expect(await leftAfter(port, 'POST', { 'content-length': '2000' }, 'x'.repeat(2_000))).toBe(6_698)
  })
})

test('cost by bytes is refused without maxCost: there would be no cost for a body that hides its length', () => {
  const { maxCost, ...unbounded } = bytes
  expect(() => rateLimit(unbounded)).toThrow("cost: 'header:content-length' needs maxCost")
  expect(() => rateLimit({ ...unbounded, cost: 'header:Content-Length' })).toThrow('needs maxCost')
})
