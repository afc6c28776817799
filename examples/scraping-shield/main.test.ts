import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FakeClock, fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/express'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { networkOf, shopOf } from './main.ts'

let server: Server
let clock: FakeClock
let url: string

beforeEach(async () => {
  clock = fakeClock()
  const app = shopOf(new Set(['secret']), memoryStore({ clock }))
  server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(() => void server.close())

const get = (path: string, address: string, cookie = ''): Promise<Response> =>
  fetch(url + path, { headers: { 'x-forwarded-for': address, cookie } })

/** How many of these concurrent requests are allowed; `address` returns the address of each. */
async function passed(count: number, address: (i: number) => string, path = '/product/1', cookie?: string) {
  const responses = await Promise.all(Array.from({ length: count }, (_, i) => get(path, address(i), cookie)))
  return responses.filter(({ ok }) => ok).length
}

test('a person who reads a page every two seconds notices nothing', async () => {
  for (let i = 0; i < 100; i++) {
    expect((await get(`/product/${i}`, '192.0.2.1')).status).toBe(200)
    clock.advance(6000)
  }
})

test('one address gets a burst, and then a page every two seconds', async () => {
  expect(await passed(100, () => '192.0.2.1')).toBe(60)
  clock.advance(10_000)
  expect(await passed(100, () => '192.0.2.1')).toBe(5)
})

test('a hundred addresses of one network share the quota of the network', async () => {
  expect(await passed(400, (i) => `192.0.2.${i % 100}`)).toBe(300)
  expect(await passed(1, () => '198.51.100.1')).toBe(1)
})

// An IPv6 customer always has a network of addresses.
test('two hundred IPv6 addresses of one network count as one visitor', async () => {
  expect(await passed(200, (i) => `2001:db8:7:1::${i.toString(16)}`)).toBe(60)
})

test('a client that follows the invisible link is denied for a day', async () => {
  expect((await get('/catalogue/all', '192.0.2.1')).status).toBe(404)
  const denied = await get('/product/1', '192.0.2.1')
  expect([denied.status, Number(denied.headers.get('retry-after'))]).toEqual([429, 24 * 3600 - 60 * 2 + 2])
  expect(await denied.json()).toMatchObject({ type: expect.stringContaining('abnormal-usage-detected') })
  expect((await get('/product/1', '192.0.2.2')).status).toBe(200)
})

test('deep pages of a search cost more', async () => {
  let found = 0
  for (let i = 0; i < 20; i++) {
    if ((await get('/search?page=990', '192.0.2.1')).ok) found++
    clock.advance(2000)
  }
  expect(found).toBe(5)
})

test('members are not limited, and an invalid session does not count as one', async () => {
  expect(await passed(100, () => '192.0.2.1', '/product/1', 'session=secret')).toBe(100)
  expect(await passed(100, () => '192.0.2.1', '/product/1', 'session=guess')).toBe(60)
})

test('responses do not report the limits', async () => {
  const { headers } = await get('/product/1', '192.0.2.1')
  expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null])
})

test.each([
  ['192.0.2.77', '192.0.2'],
  ['::ffff:192.0.2.77', '192.0.2'],
  ['2001:db8:7:1::1', '2001:db8:7:0:0:0:0:0/48'],
])('%s is of the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
