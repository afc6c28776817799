import { connectionAddress } from '@spillway/core/http'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllGlobals()
})

const request = (headers: Record<string, string> = {}): Request => new Request('http://localhost', { headers })

test.each<[runtime: string, beside: unknown, address: string | undefined]>([
  ['the Node server of Hono', { incoming: { socket: { remoteAddress: '192.0.2.1' } } }, '192.0.2.1'],
  ['Deno', { remoteAddr: { transport: 'tcp', hostname: '2001:db8::1', port: 1 } }, '2001:db8::1'],
  ['Bun', { requestIP: () => ({ address: '192.0.2.2', family: 'IPv4', port: 1 }) }, '192.0.2.2'],
  ['Bun, the server in an object', { server: { requestIP: () => ({ address: '192.0.2.3' }) } }, '192.0.2.3'],
  ['Bun on a Unix socket', { requestIP: () => null }, undefined],
  ['Deno on a Unix socket', { remoteAddr: { transport: 'unix', path: '/run/app' } }, undefined],
  ['a socket that has closed', { incoming: { socket: {} } }, undefined],
  ['bindings that only sound alike', { incoming: 'a', remoteAddr: 'b', requestIP: 'c', server: null }, undefined],
  ['nothing', undefined, undefined],
  ['null', null, undefined],
  ['an event', 'event', undefined],
])('reads what is handed over by %s', (_, beside, address) => {
  expect(connectionAddress(request({ 'cf-connecting-ip': '198.51.100.1' }), beside)).toBe(address)
})

test.each(['Node.js/22', 'Deno/2.1.4', 'Bun/1.2', undefined])('trusts no header in %s', (userAgent) => {
  vi.stubGlobal('navigator', { userAgent })
  const beside = { incoming: { socket: { remoteAddress: '192.0.2.1' } } }
  expect(connectionAddress(request({ 'cf-connecting-ip': '198.51.100.1' }), beside)).toBe('192.0.2.1')
})

test('trusts the header of Cloudflare on Workers, and ignores other addresses there', () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  const bindings = { incoming: { socket: { remoteAddress: '192.0.2.1' } } }
  expect(connectionAddress(request({ 'cf-connecting-ip': '198.51.100.1' }), bindings)).toBe('198.51.100.1')
  expect(connectionAddress(request(), bindings)).toBe(undefined)
})

test('asks the server of Bun as its method', () => {
  class Server {
    readonly #address = '192.0.2.4'
    requestIP() {
      return { address: this.#address }
    }
  }
  expect(connectionAddress(request(), new Server())).toBe('192.0.2.4')
})
