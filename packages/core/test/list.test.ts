import { fakeClock, modelStore } from '@spillway/conformance'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type ListOptions,
  perMinute,
  type RateLimiter,
  rateLimiter,
  type Store,
  StoreError,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'

afterEach(() => void vi.useRealTimers())

/** A limiter of 10 units of which each key has used so many. */
async function usedBy(uses: Readonly<Record<string, number>>, wrapped: (store: Store) => Store = (store) => store) {
  const limiter = rateLimiter({ quota: perMinute(10), store: wrapped(modelStore(fakeClock())) })
  for (const [key, units] of Object.entries(uses)) await limiter.charge(key, units)
  return limiter
}

const keysOf = async (limiter: RateLimiter, options?: ListOptions) =>
  (await limiter.list(options)).keys.map(({ key }) => key)

test('lists the keys that have used the most first, and those in debt before the limited', async () => {
  const limiter = await usedBy({ a: 3, full: 1, b: 10, c: 7, owes: 25, d: 12 })
  await limiter.refund('full')
  expect(await limiter.list()).toMatchObject({ policy: 'default', scanned: 6, isComplete: true })
  expect(await keysOf(limiter)).toEqual(['owes', 'd', 'b', 'c', 'a'])
  expect(await keysOf(limiter, { limit: 2 })).toEqual(['owes', 'd'])
  expect(await keysOf(limiter, { limited: true })).toEqual(['owes', 'd', 'b'])
  expect((await limiter.list()).keys[3]).toMatchObject({ isDigest: false, decision: { remaining: 3, allowed: true } })
})

test('lists one policy of several by name', async () => {
  const quotas = { minute: perMinute(10), many: perMinute(100) }
  const limiter = rateLimiter({ quotas, store: modelStore(fakeClock()) })
  await limiter.consume('a', 4)
  expect((await limiter.list({ policy: 'many' })).keys).toMatchObject([{ key: 'a', decision: { remaining: 96 } }])
  await expect(limiter.list()).rejects.toThrow('one policy of this limiter, "minute", "many"; got undefined')
  await expect(limiter.list({ policy: 'hour' })).rejects.toThrow('got "hour"')
})

test('examines no more states than it may, and says so', async () => {
  const uses = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`user-${i}`, 1 + (i % 10)]))
  const limiter = await usedBy(uses)
  expect(await limiter.list({ scan: 10, timeout: '1m' })).toMatchObject({ scanned: 10, isComplete: false })
  expect(await limiter.list({ scan: 50, limit: 3, timeout: '1m' })).toMatchObject({ scanned: 50, isComplete: false })
  const all = await limiter.list({ scan: 51, limit: 1_000, timeout: '1m' })
  expect(all).toMatchObject({ scanned: 50, isComplete: true })
  expect(all.keys.map(({ decision }) => decision.remaining)).toEqual(
    Object.values(uses)
      .map((units) => 10 - units)
      .sort((a, b) => a - b),
  )
})

test('a state that a scan finds twice is listed once', async () => {
  const model = modelStore(fakeClock())
  const twice: Store = {
    ...model,
    async *list(policy, step) {
      for (let i = 0; i < 2; i++) if (model.list) yield* model.list(policy, step)
    },
  }
  const limiter = rateLimiter({ quota: perMinute(10), store: twice })
  for (const key of ['a', 'b', 'c']) await limiter.consume(key, 5)
  expect(await keysOf(limiter, { limit: 2 })).toHaveLength(2)
  expect((await keysOf(limiter)).sort()).toEqual(['a', 'b', 'c'])
})

test('returns what was examined in time, and ends the scan', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let ended = false
  const { take, delete: remove, list } = modelStore(fakeClock())
  const slow: Store = {
    take,
    delete: remove,
    async *list(policy, step) {
      try {
        if (list) yield* list(policy, step)
        await new Promise((resolve) => setTimeout(resolve, 60_000))
      } finally {
        ended = true
      }
    },
  }
  const limiter = rateLimiter({ quota: perMinute(10), store: slow, logger: { warn() {} } })
  await limiter.consume('a')
  const listed = limiter.list({ timeout: '3s' })
  await vi.advanceTimersByTimeAsync(3_100)
  expect(await listed).toMatchObject({ keys: [{ key: 'a' }], isComplete: false })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ended).toBe(true)
})

test('rejects if the store fails, or lists nothing in time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const { take, delete: remove } = modelStore(fakeClock())
  const limiterWith = (next: () => Promise<never>) =>
    rateLimiter({
      quota: perMinute(10),
      store: { take, delete: remove, list: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) },
    })
  await expect(limiterWith(() => Promise.reject(new Error('gone'))).list()).rejects.toThrow(StoreError)
  const hanging = limiterWith(() => new Promise(() => {})).list()
  const rejected = expect(hanging).rejects.toMatchObject({ code: 'ERR_SPILLWAY_STORE', reason: 'timeout' })
  await vi.advanceTimersByTimeAsync(1_100)
  await rejected
})

test('is rejected with what to do instead where the store cannot list', async () => {
  const { take, delete: remove } = modelStore(fakeClock())
  const limiter = rateLimiter({ quota: perMinute(10), store: { take, delete: remove } })
  await expect(limiter.list()).rejects.toThrow(/this store cannot list its states, as Durable Objects cannot/)
})

test.each<[object, string]>([
  [{ limits: 3 }, 'list has no option "limits". Did you mean "limit"?'],
  [{ limit: 0 }, 'list limit must be a whole number, 1 or more; got 0'],
  [{ limit: 1_001 }, 'list limit must be at most 1000; got 1001'],
  [{ limit: '5' }, 'list limit must be a whole number'],
  [{ limited: 'yes' }, 'list limited must be true or false; got "yes"'],
  [{ scan: 1.5 }, 'list scan must be a whole number'],
  [{ timeout: 'soon' }, 'soon'],
])('%o is an error', async (options, message) => {
  const limiter = await usedBy({})
  await expect(limiter.list(options)).rejects.toThrow(message)
})

test('lists through the wrappers: leased units as used, and hashed keys as digests', async () => {
  const leased = await usedBy({ a: 2 }, (store) => withLeases({ ...store }, { requests: 10 }))
  expect(await keysOf(leased)).toEqual(['a'])
  const cached = await usedBy({ a: 10, b: 1 }, (store) => withDenyCache(store))
  expect(await keysOf(cached)).toEqual(['a', 'b'])
  const hashed = await usedBy({ alice: 2 }, (store) => withHashedKeys(store, (key) => `#${key.length}`))
  expect((await hashed.list()).keys).toMatchObject([{ key: '#5', isDigest: true }])
})
