import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import http2 from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { fakeClock } from '@spillway/conformance'
import { rateLimit } from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { frameworks } from './adapters/apps.ts'
import type { Options } from './adapters/options.ts'

// The cost of a body without a length. Reproduces a bug: a chunked body of 3 MB cost one unit.

let server: Server | http2.Http2Server
let client: http2.ClientHttp2Session | undefined
afterEach(() => {
  client?.destroy()
  client = undefined
  if ('closeAllConnections' in server) server.closeAllConnections()
  server.close()
})

const bytes = { quota: perMinute(10_000), cost: 'header:content-length', maxCost: 1_000 } as const

async function listen(name: string, version: 1 | 2 = 1): Promise<number> {
  const options = { ...bytes, name: 'app', store: memoryStore({ clock: fakeClock() }) }
  const listener = frameworks[name]?.(options as unknown as Options)
  server = version === 2 ? http2.createServer(listener as never) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Sends a body, and returns the remaining units. */
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
  test('a body costs its length, and a body without a length costs the maximum', async () => {
    const port = await listen(name)
    const chunked = { 'transfer-encoding': 'chunked' }
    expect(await leftAfter(port, 'POST', { 'content-length': '300' }, 'x'.repeat(300))).toBe(9_700)
    expect(await leftAfter(port, 'POST', chunked, 'x'.repeat(300))).toBe(8_700)
    expect(await leftAfter(port, 'DELETE', chunked, 'x')).toBe(7_700)
    expect(await leftAfter(port, 'GET', {}, '')).toBe(7_699)
    expect(await leftAfter(port, 'POST', { 'content-length': '0' }, '')).toBe(7_698)
    expect(await leftAfter(port, 'POST', { 'content-length': '2000' }, 'x'.repeat(2_000))).toBe(6_698)
  })

  test('a POST without a body costs as little as a GET', async () => {
    const port = await listen(name)
    const raw = connect(port, '127.0.0.1')
    raw.end('POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    expect(await text(raw)).toContain(';r=9999;')
  })
})

// Reproduces a bug: HTTP/2 bodies may have neither header. One of 3 MB cost one unit if it was sent by GET or DELETE.
// Express has no HTTP/2.
describe.each(Object.keys(frameworks).filter((name) => name !== 'Express'))(
  'cost by bytes, over HTTP/2, %s',
  (name) => {
    test('a body without a length costs the maximum, for any method', async () => {
      const port = await listen(name, 2)
      client = http2.connect(`http://127.0.0.1:${port}`)
      const leftOver = async (method: string, body: string | undefined, headers = {}): Promise<number> => {
        const sent = (client as http2.ClientHttp2Session).request(
          { ':method': method, 'content-type': 'text/plain', ...headers },
          { endStream: body === undefined },
        )
        if (body !== undefined) sent.end(body)
        const [response] = await once(sent, 'response')
        sent.close()
        return Number(/;r=(\d+)/.exec(response.ratelimit)?.[1])
      }
      const left: number[] = []
      for (const method of ['GET', 'DELETE', 'POST']) {
        left.push(await leftOver(method, undefined), await leftOver(method, 'x'), await leftOver(method, ''))
      }
      // A request that has not ended with its headers may have a body of any length.
      expect(left).toEqual([9_999, 8_999, 7_999, 7_998, 6_998, 5_998, 5_997, 4_997, 3_997])
      expect(await leftOver('DELETE', 'x'.repeat(300), { 'content-length': '300' })).toBe(3_697)
      const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
      expect(await leftOver('OPTIONS', undefined, preflight)).toBe(3_696)
      expect(await leftOver('OPTIONS', 'x', preflight)).toBe(2_696)
    })
  },
)

test('rejects cost by bytes without maxCost: a body without a length would have no cost', () => {
  const { maxCost, ...unbounded } = bytes
  expect(() => rateLimit(unbounded)).toThrow("cost: 'header:content-length' needs maxCost")
  expect(() => rateLimit({ ...unbounded, cost: 'header:Content-Length' })).toThrow('needs maxCost')
})
