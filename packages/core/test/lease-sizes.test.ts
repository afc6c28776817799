import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { perMinute, perSecond, rateLimiter, type Store, withLeases } from '../src/index.ts'
import { allowedOf, consume, setUp } from './leasing.ts'
import { settled } from './sharing.ts'

describe('a lease', () => {
  test('is not taken for the first request of a key, nor for one now and then', async () => {
    const { clock, limiter, shared, direct } = setUp()
    for (let i = 1; i < 5; i++) {
      await consume(limiter, 1)
      expect(shared.calls).toBe(i)
      clock.advance(1_001)
    }
    await consume(limiter, 1)
    expect((await direct.peek('a')).remaining).toBe(999)
  })

  test('doubles each time it is used up: 100 requests cost 7 calls, and each 100 after them one', async () => {
    const { limiter, shared } = setUp(perSecond(10_000))
    for (let i = 0; i < 127; i++)
      expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 9_999 - i })
    expect(shared.calls).toBe(7)
    await consume(limiter, 1_000)
    expect(shared.calls).toBe(17)
  })

  test('halves when it is returned', async () => {
    const { limiter, direct, stores } = setUp(perSecond(10_000))
    await consume(limiter, 127)
    const heldOf = async (): Promise<number> => {
      await consume(limiter, 1)
      const { remaining } = await direct.peek('a')
      await stores[0]?.release()
      return (await direct.peek('a')).remaining - remaining
    }
    // Each is doubled when it is taken, to a hundred at most, and halved when it is returned.
    const sizes = [await heldOf(), await heldOf(), await heldOf()]
    expect(sizes).toEqual([99, 49, 49])
  })

  test('halves when it is denied', async () => {
    const { limiter, direct } = setUp(perMinute(1_000))
    await consume(limiter, 63)
    await direct.consume('a', 1_000 - 63 - 20)
    // The next one would be for 64 requests: it is denied, and the request allowed by itself.
    await consume(limiter, 1)
    await direct.reset('a')
    // The bucket is not known to be full again: half of the 19 that were left are leased before.
    await consume(limiter, 9 + 1)
    const { remaining } = await direct.peek('a')
    await limiter.peek('a')
    expect((await direct.peek('a')).remaining - remaining).toBe(31)
  })

  test('is waited for by those who come together, who then need one more call for all', async () => {
    const { limiter, shared } = setUp(perSecond(10_000))
    await consume(limiter, 127)
    const { calls } = shared
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('a')))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 500 }, (_, i) => 9_872 - i))
    expect(shared.calls).toBe(calls + 2)
  })

  test('is for half of what is left in the bucket', async () => {
    const { limiter, direct } = setUp(perMinute(10))
    await consume(limiter, 2)
    // Nine were left, and a lease of two was taken; then seven, three of which are leased.
    expect((await direct.peek('a')).remaining).toBe(7)
    await consume(limiter, 2)
    expect((await direct.peek('a')).remaining).toBe(4)
    await consume(limiter, 6)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
  })

  test('leaves to others what it has not taken, and keeps from them what it holds', async () => {
    const { limiter, other } = setUp(perMinute(100), { processes: 2, requests: 40 })
    await consume(limiter, 32)
    // 1 + 2 + 4 + 8 + 16 are spent, and one of the 32 that are leased: half of what was left is 34.
    expect(await allowedOf(other, 100)).toBe(100 - 31 - 32)
    expect(await allowedOf(limiter, 100)).toBe(31)
  })

  test('is for one request again where 10,000 other keys were asked about meanwhile', async () => {
    const { limiter, shared } = setUp()
    await consume(limiter, 3)
    for (let i = 0; i < 9_999; i++) await limiter.consume(`fresh-${i}`)
    const { calls } = shared
    await consume(limiter, 3)
    expect(shared.calls).toBe(calls + 1)
    // A lease that is held stays.
    for (let i = 0; i < 10_000; i++) await limiter.consume(`more-${i}`)
    const held = shared.calls
    await consume(limiter, 1)
    expect(shared.calls).toBe(held)
    await limiter.peek('a')
    for (let i = 0; i < 10_000; i++) await limiter.consume(`other-${i}`)
    const after = shared.calls
    await consume(limiter, 2)
    expect(shared.calls).toBe(after + 2)
  })

  // Entries of requests that came together with one of several policies, which was answered later, were never evicted.
  test('is for one request again where 10,000 other keys were asked about by two requests at once', async () => {
    const model = modelStore(fakeClock())
    let calls = 0
    const remote: Store = {
      take: async (ops) => {
        calls++
        const taken = model.takeSync(ops)
        if (ops.length > 1) await settled()
        return taken
      },
      delete: (keys) => model.delete(keys),
    }
    const store = withLeases(remote, { requests: 100, maxLoss: '1h', stopwatch: () => 0 })
    const one = rateLimiter({ name: 'p', quota: perSecond(1_000), store, deadline: '1h' })
    const two = rateLimiter({ quotas: { p: perSecond(1_000), q: perSecond(10) }, store, deadline: '1h' })
    for (let i = 0; i < 10_001; i++) await Promise.all([two.consume(`key-${i}`), one.consume(`key-${i}`)])
    const before = calls
    await consume(one, 2, 'key-10000')
    expect(calls).toBe(before + 2)
  })
})
