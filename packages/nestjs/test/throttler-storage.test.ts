import { memoryStore } from '@spillway/memory'
import { describe, expect, test, vi } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { advance, clock, libraries, Plain, reported, serve, statusesOf, storageOf } from './throttler-apps.ts'

describe.each(Object.entries(libraries))('%s', (_, api) => {
  test('uses a storage of the app, with the arguments and the record of the interface', async () => {
    const calls: unknown[][] = []
    const storage: ours.ThrottlerStorage = {
      increment: async (...args) => {
        calls.push(args.slice(1))
        return { totalHits: 7, timeToExpire: 8, isBlocked: calls.length > 1, timeToBlockExpire: 9 }
      },
    }
    const options = { storage, throttlers: [{ name: 'api', limit: 10, ttl: 1_000 }] }
    const send = await serve(api, { controllers: [Plain], options })
    expect(reported(await send())).toEqual({ 'limit-api': 10, 'remaining-api': 3, 'reset-api': 8 })
    expect(reported(await send())).toEqual({ 'retry-after-api': 9 })
    expect(calls[0]).toEqual([1_000, 10, 1_000, 'api'])
  })
})

test('a ttl of 30 days is counted for 30 days, without a timer', async () => {
  const storage = storageOf(ours)
  const start = vi.spyOn(globalThis, 'setTimeout')
  const interval = vi.spyOn(globalThis, 'setInterval')
  const hit = () => storage.increment('ann', ours.days(30), 2, 0, 'default')
  await hit()
  advance(ours.days(29))
  expect(await hit()).toMatchObject({ totalHits: 2, timeToExpire: 86_400, isBlocked: false })
  expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 86_400 })
  advance(ours.days(1))
  expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false })
  expect([start.mock.calls.length, interval.mock.calls.length]).toEqual([0, 0])
})

test('a store of ours is a storage, and requests at the same time never exceed the limit', async () => {
  const options = { storage: memoryStore({ clock }), throttlers: [{ limit: 10, ttl: 60_000 }] }
  const send = await serve(ours, { controllers: [Plain], options })
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await send()).status))
  expect(statuses.filter((status) => status === 200)).toHaveLength(10)
})

test('a limit above a thousand is approximated by two counts, and never exceeded', async () => {
  const storage = storageOf(ours)
  let allowed = 0
  for (let i = 0; i < 2_500; i++) {
    const { isBlocked } = await storage.increment('ann', 60_000, 2_000, 0, 'default')
    if (!isBlocked) allowed++
  }
  expect(allowed).toBe(2_000)
})

test('a ttl or blockDuration of less than a microsecond is 0', async () => {
  const storage = storageOf(ours)
  const hit = (ttl: number, block: number) => storage.increment('ann', ttl, 1, block, 'default')
  expect([await hit(1e-9, 5), await hit(1e-9, 5)].map(({ isBlocked }) => isBlocked)).toEqual([false, false])
  expect([await hit(60_000, 1e-9), await hit(60_000, 1e-9)].map(({ isBlocked }) => isBlocked)).toEqual([false, true])
  expect([await hit(60_000, -5), await hit(60_000, -5)].map(({ isBlocked }) => isBlocked)).toEqual([true, true])
})

test.each([1_001, 1e6, 1e9])('a limit of %d is counted in any ttl', async (limit) => {
  const storage = storageOf(ours)
  for (const ttl of [
    0.001,
    1,
    1_000 / 3,
    60_000.5,
    1e6 + 1 / 3,
    ours.days(30),
    ours.days(30) + 0.123,
    1e12,
    Infinity,
  ]) {
    expect(await storage.increment(`${ttl}`, ttl, limit, ttl, 'default')).toMatchObject({
      totalHits: 1,
      isBlocked: false,
    })
  }
})

test('empty keys and names of any characters count apart', async () => {
  const storage = storageOf(ours)
  const totals: number[] = []
  for (const key of ['', ' ', 'a', '["ä",""]']) {
    for (const name of ['a'.repeat(100), 'a'.repeat(101), 'ä', '', '(any)']) {
      totals.push((await storage.increment(key, 60_000, 5, 60_000, name)).totalHits)
    }
  }
  expect(new Set(totals)).toEqual(new Set([1]))
  expect((await storage.increment('a', 60_000, 5, 60_000, '(any)')).totalHits).toBe(2)
  await expect(storage.increment(undefined as never, 60_000, 5, 0, 'a')).rejects.toThrow(
    'key must be a non-empty string',
  )
})

// Reproduces a bug: the ttl of a request was in the name of its count, so that a client had as many counts as requests, of
// which none was ever full: 60,000 of 60,000 requests, and 716 MB.
describe.each(Object.entries(libraries))('%s, with numbers that functions return', (_, api) => {
  const untilMidnight = (): number => api.days(1) - (Date.now() % api.days(1))

  test('a ttl until midnight allows as many requests a day', async () => {
    const options = { throttlers: [{ limit: 5, ttl: untilMidnight }] }
    const send = await serve(api, { controllers: [Plain], options })
    for (let day = 0; day < 2; day++) {
      let allowed = 0
      for (let hour = 0; hour < 24; hour++) {
        allowed += (await statusesOf(send, 10)).filter((status) => status === 200).length
        advance(api.hours(1) - 7)
        allowed += (await statusesOf(send, 1)).filter((status) => status === 200).length
        advance(7)
      }
      expect(allowed).toBe(5)
    }
  })

  test('a limit or a blockDuration that differs each time is one count', async () => {
    let calls = 0
    const next = (): number => calls++
    const limited = await serve(api, {
      controllers: [Plain],
      options: { throttlers: [{ limit: () => 5 + (next() % 5), ttl: 60_000 }] },
    })
    expect((await statusesOf(limited, 20)).filter((status) => status === 200).length).toBeLessThan(10)
    const blocking = await serve(api, {
      controllers: [Plain],
      options: { throttlers: [{ limit: 5, ttl: 60_000, blockDuration: () => 1_000 + next() }] },
    })
    expect((await statusesOf(blocking, 20)).filter((status) => status === 200)).toHaveLength(5)
  })
})

test('one client has as many states, whatever its numbers are', async () => {
  const store = memoryStore({ clock })
  const storage = new ours.ThrottlerStorageService(store)
  for (let i = 0; i < 300; i++) await storage.increment('ann', 60_000 + i, 10 * i + 1, 1_000 + i, 'default')
  expect(store.size).toBeLessThanOrEqual(3)
})
