import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FakeClock, fakeClock } from '@spillway/conformance'
import { memoryStore } from '@spillway/express'
import type { Express } from 'express'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Account, apiOf } from './main.ts'

let server: Server
let clock: FakeClock
let url: string
let app: Express
let accounts: Map<string, Account>

beforeEach(async () => {
  clock = fakeClock()
  accounts = new Map([
    ['a', { id: 'ann', plan: 'free' }],
    ['b', { id: 'bob', plan: 'pro' }],
  ])
  app = apiOf(accounts, memoryStore({ clock }))
  server = await new Promise((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(() => void server.close())

async function get(path: string, key?: string) {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await fetch(url + path, { headers })
  const left = [...(response.headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+)/g)]
  return { status: response.status, left: Object.fromEntries(left.map(([, name, rest]) => [name, Number(rest)])) }
}

test('each plan has its own quotas, and guests have theirs per address', async () => {
  expect(await get('/items')).toEqual({ status: 200, left: { guests: 9 } })
  expect(await get('/items', 'a')).toEqual({ status: 200, left: { rate: 4, volume: 999 } })
  expect(await get('/items', 'b')).toEqual({ status: 200, left: { rate: 49, volume: 99_999 } })
})

// Reproduces: a guest with a network of IPv6 addresses got a quota for each address.
test('guests of one IPv6 network share one quota', async () => {
  app.set('trust proxy', 1)
  const statuses: number[] = []
  for (let i = 0; i < 20; i++) {
    const address = `2001:db8:0:1::${i.toString(16)}`
    statuses.push((await fetch(`${url}/items`, { headers: { 'x-forwarded-for': address } })).status)
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(10)
})

test('if the rate denies a request, the volume is not charged', async () => {
  const statuses: number[] = []
  for (let i = 0; i < 8; i++) statuses.push((await get('/items', 'a')).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
  clock.advance(500)
  expect(await get('/items', 'a')).toEqual({ status: 200, left: { rate: 0, volume: 994 } })
})

test('an export is charged by its rows, and a request that fails on our side is refunded', async () => {
  await get('/export?rows=250', 'a')
  // The cost is settled after the response.
  await vi.waitFor(async () => {
    clock.advance(500)
    expect((await get('/broken', 'a')).left.volume).toBe(749)
  })
})

test('an upgrade applies from the next request on, and keeps the used share', async () => {
  for (let i = 0; i < 5; i++) await get('/export', 'a')
  await vi.waitFor(async () => {
    clock.advance(1000)
    expect((await get('/broken', 'a')).left.volume).toBe(994)
  })
  accounts.set('a', { id: 'ann', plan: 'pro' })
  // 5 used of 1,000 are 500 used of 100,000.
  expect((await get('/items', 'a')).left.volume).toBe(99_499)
})

test('an unknown API key gets 401, and charges no account', async () => {
  expect(await get('/items', 'made-up')).toEqual({ status: 401, left: {} })
})
