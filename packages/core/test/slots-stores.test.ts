import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions } from '../src/http/index.ts'
import { inFlight } from '../src/in-flight.ts'
import {
  perMinute,
  rateLimiter,
  type Store,
  storeHealth,
  tokenBucket,
  withDenyCache,
  withHashedKeys,
  withLeases,
  withSharedQuota,
} from '../src/index.ts'

// Slots in stores that are wrapped, fail, or hold only some of the policies.

const logger = { warn: vi.fn() }
const KEY = '203.0.113.7'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})
afterEach(async () => {
  // A heartbeat that is left behind would hold the slots of the next test.
  await vi.advanceTimersByTimeAsync(60_000)
  vi.useRealTimers()
  logger.warn.mockClear()
})

function setUp() {
  const clock = fakeClock()
  const inner = modelStore(clock)
  const store = faultyStore(inner)
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1_000)
      await vi.advanceTimersByTimeAsync(1_000)
    }
  }
  const limit = 2
  const free = async (name = 'default', key = 'a') =>
    (await rateLimiter({ name, quota: inFlight(limit), store: inner, logger }).peek(key)).remaining
  return { clock, inner, store, pass, free }
}

test.each<[string, (store: Store) => Store]>([
  ['a deny cache', (store) => withDenyCache(store)],
  ['hashed keys', (store) => withHashedKeys(store, (key) => `hash of ${key}`)],
  ['leases', (store) => withLeases(store, { requests: 10 })],
  ['a shared quota', (store) => withSharedQuota(store)],
])('are taken, renewed and released through %s', async (_, wrapped) => {
  const { store, pass } = setUp()
  const limiter = rateLimiter({ quota: inFlight(2), store: wrapped(store), logger })
  const [first, second] = [await limiter.acquire('a'), await limiter.acquire('a')]
  expect((await limiter.acquire('a')).allowed).toBe(false)
  await pass(60)
  expect([(await limiter.acquire('a')).allowed, first.isLost, second.isLost]).toEqual([false, false, false])
  await first.release()
  const third = await limiter.acquire('a')
  expect([third.allowed, (await limiter.acquire('a')).allowed]).toEqual([true, false])
  await Promise.all([second.release(), third.release()])
  expect((await limiter.peek('a')).remaining).toBe(2)
})

describe('slots in a store that fails', () => {
  const limiterOn = (store: Store) =>
    rateLimiter({ quota: inFlight(2), store, logger, onStoreError: 'throw', deadline: '1s' })

  test('stay held if it answers again before their ttl is over', async () => {
    const { store, pass, free } = setUp()
    const slots = [await limiterOn(store).acquire('a'), await limiterOn(store).acquire('a')]
    for (let i = 0; i < 3; i++) {
      store.break('failing')
      await pass(19)
      store.break('none')
      await pass(11)
    }
    expect([await free(), slots.map(({ isLost }) => isLost)]).toEqual([0, [false, false]])
    await Promise.all(slots.map((slot) => slot.release()))
    expect(await free()).toBe(2)
  })

  test('are free when it answers again, if they were released while its circuit was open', async () => {
    const { store, pass, free } = setUp()
    const limiter = limiterOn(store)
    const slots = [await limiter.acquire('a'), await limiter.acquire('a')]
    store.break('failing')
    for (let i = 0; i < 5; i++) await limiter.consume('b').catch(() => {})
    expect(storeHealth(store).circuit).toBe('open')
    await Promise.all(slots.map((slot) => slot.release()))
    store.break('none')
    await pass(1)
    await limiter.consume('b')
    await pass(0)
    expect(await free()).toBe(2)
  })

  test('are free after their ttl if their release failed', async () => {
    const { store, pass, free } = setUp()
    const slot = await limiterOn(store).acquire('a')
    store.break('failing')
    await slot.release()
    store.break('none')
    await pass(30)
    expect([await free(), logger.warn.mock.calls.length]).toEqual([2, 1])
  })

  test('are counted by this process, and released by their number', async () => {
    const { store, free } = setUp()
    const limiter = rateLimiter({ quota: inFlight(2), store, logger, deadline: '1s' })
    store.break('failing')
    const slots = [await limiter.acquire('a'), await limiter.acquire('a')]
    const third = await limiter.acquire('a')
    expect([...slots, third].map(({ allowed, degraded }) => [allowed, degraded?.action])).toEqual([
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ])
    store.break('none')
    expect(await free()).toBe(2)
    await slots[0]?.release()
    await slots[0]?.release()
    store.break('failing')
    const again = [await limiter.acquire('a'), await limiter.acquire('a')]
    expect(again.map(({ allowed }) => allowed)).toEqual([true, false])
    await Promise.all([...slots, ...again].map((slot) => slot.release()))
  })

  test('are counted by another limiter, and released there', async () => {
    const { store } = setUp()
    const fallback = rateLimiter({ name: 'few', quota: inFlight(1), store: modelStore(fakeClock()), logger })
    const limiter = rateLimiter({ quota: inFlight(2), store, logger, onStoreError: fallback, deadline: '1s' })
    store.break('failing')
    const [slot, denied] = [await limiter.acquire('a'), await limiter.acquire('a')]
    expect([slot.allowed, denied.allowed, (await fallback.peek('a')).remaining]).toEqual([true, false, 0])
    await slot.release()
    expect((await fallback.peek('a')).remaining).toBe(1)
  })

  test.each(['allow', 'deny'] as const)("hold nothing of a store that takes them late: '%s'", async (onStoreError) => {
    const { store, pass, free } = setUp()
    const limiter = rateLimiter({ quota: inFlight(2), store, logger, onStoreError, deadline: 50 })
    store.break('slow')
    const acquiring = limiter.acquire('a')
    await pass(1)
    const slot = await acquiring
    expect(slot.allowed).toBe(onStoreError === 'allow')
    await slot.release()
    store.break('none')
    await store.thaw()
    await pass(1)
    expect(await free()).toBe(2)
  })
})

describe('requests', () => {
  type Policies = readonly PolicyOptions<object, object>[]
  const guardOf = (policies: Policies, store: Store) =>
    httpGuard<object, object>({ policies, store, logger } as never, plainReader)
  const slots = { name: 'slots', quota: inFlight(2) } as const

  test('take slots of one store with units of another, or neither', async () => {
    const { inner, store, free } = setUp()
    const guard = guardOf([{ name: 'rate', quota: perMinute(3), store: faultyStore(inner) }, slots], store)
    const left = async () =>
      (await rateLimiter({ name: 'rate', quota: perMinute(3), store: inner, logger }).peek(KEY)).remaining
    const verdicts = [await guard({}), await guard({})]
    expect((await guard({})).denial?.status).toBe(429)
    expect([await left(), await free('slots', KEY)]).toEqual([1, 0])
    for (const { after } of verdicts) await after?.(200, {})
    const last = await guard({})
    expect([(await guard({})).denial?.status, await free('slots', KEY)]).toEqual([429, 1])
    await last.after?.(200, {})
    expect(await free('slots', KEY)).toBe(2)
  })

  test('of a blocked key take none, and those in flight release theirs', async () => {
    const { store, free } = setUp()
    const guard = guardOf([{ ...slots, blocks: true }], store)
    const calls = guard.byKey as {
      block(key: string, duration: string): Promise<void>
      unblock(key: string): Promise<void>
    }
    const { after } = await guard({})
    await calls.block(KEY, '1h')
    const { denial, headers } = await guard({})
    expect([denial?.status, headers.find(([name]) => name === 'Retry-After')?.[1]]).toEqual([429, '3600'])
    expect(await free('slots', KEY)).toBe(1)
    await after?.(200, {})
    expect(await free('slots', KEY)).toBe(2)
    await calls.unblock(KEY)
    const again = await guard({})
    expect([again.denial, await free('slots', KEY)]).toEqual([undefined, 1])
    await again.after?.(200, {})
  })

  test('that spill over pay with units, and hold nothing', async () => {
    const { store, free, inner } = setUp()
    const credits = { name: 'credits', quota: tokenBucket({ limit: 3, per: '1h' }) } as const
    const guard = guardOf([{ ...slots, spill: 'credits' }, credits], store)
    const held = [await guard({}), await guard({})]
    const spilled = await guard({})
    expect([spilled.denial, spilled.decision?.policy]).toEqual([undefined, 'credits'])
    await spilled.decision?.settle(2, 'slots')
    await spilled.after?.(200, {})
    const left = (await rateLimiter({ ...credits, store: inner, logger }).peek(KEY)).remaining
    expect([await free('slots', KEY), left]).toEqual([0, 1])
    for (const { after } of held) await after?.(200, {})
    expect(await free('slots', KEY)).toBe(2)
  })

  test('name the partition of their slots', async () => {
    const { store } = setUp()
    const { headers, after } = await guardOf([{ ...slots, partition: () => Uint8Array.of(1, 2) }], store)({})
    expect(headers).toEqual([
      ['RateLimit-Policy', '"slots";q=2;qu="concurrent-requests";pk=:AQI=:'],
      ['RateLimit', '"slots";r=1;pk=:AQI=:'],
    ])
    await after?.(200, {})
  })
})

describe('a deploy that changes a rate into slots, or back', () => {
  test('counts nothing of what the other version has: slots are lost, and say so', async () => {
    const { clock, inner, pass } = setUp()
    const after = rateLimiter({ name: 'p', quota: inFlight(2), store: inner, logger })
    const before = rateLimiter({ name: 'p', quota: perMinute(2), store: faultyStore(inner), logger })
    logger.warn.mockClear()
    const slots = [await after.acquire('a'), await after.acquire('a')]
    // Numbers of slots are times.
    clock.advance(1)
    expect((await before.consume('a')).remaining).toBe(1)
    const next = await after.acquire('a')
    // A beat, and the next one.
    await pass(16)
    expect([...slots, next].map(({ allowed, isLost }) => [allowed, isLost])).toEqual([
      [true, true],
      [true, true],
      [true, false],
    ])
    expect(logger.warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('a request lost its slot while it was running'),
    ])
    await Promise.all(slots.map((slot) => slot.release()))
    expect((await after.peek('a')).remaining).toBe(1)
    await next.release()
  })
})
