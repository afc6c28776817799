import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { consumeAll, perMinute, perSecond, type Quota, QuotaError, rateLimiter, type Store } from '../src/index.ts'

const remote = (): Store => {
  const { take, delete: remove } = modelStore(fakeClock())
  return {
    take,
    takeEach: async (batches, at) => {
      const answers: Awaited<ReturnType<Store['take']>>[] = []
      for (const ops of batches) answers.push(await take(ops, at))
      return answers
    },
    delete: remove,
  }
}

// A limiter whose rate is set while it runs, as setQPS of many limiters does.
describe('replace', () => {
  test.each([
    ['in memory', () => modelStore(fakeClock())],
    ['remote', remote],
  ])('changes the quota from the next call on, and keeps the counts: %s', async (_, makeStore) => {
    const limiter = rateLimiter({ quota: perMinute(10), store: makeStore(), deadline: '10s' })
    await limiter.consume('a', 6)
    limiter.replace({ quota: perMinute(20) })
    expect(limiter.policies).toEqual([{ name: 'default', quota: perMinute(20) }])
    expect(await limiter.peek('a')).toMatchObject({ limit: 20, remaining: 8 })
    expect((await limiter.consume('a', 8)).allowed).toBe(true)
    expect((await limiter.consume('a')).allowed).toBe(false)
    limiter.replace({ quotas: { default: perMinute(20), burst: perSecond(1) } })
    expect(await limiter.consume('b')).toMatchObject({ policy: 'burst', remaining: 0 })
    expect(await limiter.inspect('b')).toHaveLength(2)
    await consumeAll([[limiter, 'c', { burst: 1 }]])
    expect((await limiter.peek('c', { default: 0 })).allowed).toBe(false)
  })

  test('a method that was taken from the limiter has the new quota, too', () => {
    const limiter = rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })
    const { consumeSync } = limiter
    limiter.replace({ quota: perMinute(3) })
    expect(Array.from({ length: 4 }, () => consumeSync('a').allowed)).toEqual([true, true, true, false])
  })

  test('a reservation made before is settled by its own quota', async () => {
    const limiter = rateLimiter({ quotas: { a: perMinute(5), b: perMinute(5) }, store: modelStore(fakeClock()) })
    const reservation = await limiter.reserve('k', { cost: { a: 4, b: 2 } })
    limiter.replace({ quota: perMinute(5) })
    await reservation.commit({ a: 1, b: 0 })
    limiter.replace({ quotas: { a: perMinute(5), b: perMinute(5) } })
    const { policies } = await limiter.peek('k')
    expect(policies?.map(({ remaining }) => remaining)).toEqual([4, 5])
  })

  test('an invalid quota changes nothing', async () => {
    const limiter = rateLimiter({ quota: perMinute(2), store: modelStore(fakeClock()) })
    for (const quotas of [
      {},
      { quota: {} },
      { quota: perMinute(1), quotas: { a: perMinute(1) } },
      { limit: 5 },
      perMinute(1),
    ]) {
      expect(() => limiter.replace(quotas as never)).toThrow(QuotaError)
    }
    expect(await limiter.consume('a')).toMatchObject({ limit: 2, remaining: 1 })
  })

  test('what is replaced may be used by another limiter, and what it has now may not', () => {
    const store = modelStore(fakeClock())
    const limiter = rateLimiter({ name: 'api', quota: perMinute(1), store })
    limiter.replace({ quota: perMinute(2) })
    expect(() => rateLimiter({ name: 'api', quota: perMinute(1), store })).toThrow('name')
    expect(rateLimiter({ name: 'api', quota: perMinute(2), store }).policies).toHaveLength(1)
  })
})

describe('a quota by key', () => {
  const plans: Readonly<Record<string, Quota>> = { ann: perMinute(3) }
  const free = perMinute(1)
  const planOf = (key: string): Quota => plans[key] ?? free

  test.each([
    ['returned', planOf],
    ['promised', async (key: string) => planOf(key)],
  ])('%s: each key has its own', async (how, quota) => {
    for (const store of [modelStore(fakeClock()), remote()]) {
      const limiter = rateLimiter({ quota, store, blocks: true, deadline: '10s' })
      const limits = [await limiter.consume('ann'), await limiter.consume('bob'), await limiter.consume('bob')]
      expect(limits.map(({ allowed, limit }) => [allowed, limit])).toEqual([
        [true, 3],
        [true, 1],
        [false, 1],
      ])
      expect((await limiter.consumeUpTo('ann', 9)).consumed).toBe(2)
      await limiter.refund('ann')
      const reservation = await limiter.reserve('ann')
      expect(reservation.allowed).toBe(true)
      await reservation.cancel()
      expect(await limiter.inspect('ann')).toMatchObject([{ quota: perMinute(3) }])
      expect((await consumeAll([[limiter, 'ann']])).allowed).toBe(true)
      await limiter.block('eve', '1h')
      expect((await limiter.consume('eve')).allowed).toBe(false)
      expect([await limiter.reset('bob'), (await limiter.wait('bob')).limit]).toEqual([true, 1])
      expect([limiter.policies, how]).toEqual([[], how])
      // The error listed the names of no policies.
      await expect(limiter.list()).rejects.toThrow('inspect(key) reports')
      // It was false, though the limiter blocks.
      expect(limiter.canBlock).toBe(true)
    }
  })

  test('consumeSync takes what is returned, and says so about a promise', () => {
    const store = modelStore(fakeClock())
    expect(rateLimiter({ quota: planOf, store }).consumeSync('ann').limit).toBe(3)
    const other = rateLimiter({ name: 'other', quota: async () => free, store })
    expect(() => other.consumeSync('ann')).toThrow('Await consume(key) instead')
  })

  test('what is no quota, and what throws, fails the call', async () => {
    const store = modelStore(fakeClock())
    for (const quota of [() => undefined, () => 5, async () => null] as const) {
      await expect(
        rateLimiter({ name: `${quota}`.slice(0, 9), quota: quota as never, store }).consume('a'),
      ).rejects.toThrow(QuotaError)
    }
    const down = rateLimiter({ name: 'down', quota: () => Promise.reject(new Error('database')), store })
    await expect(down.consume('a')).rejects.toThrow('database')
  })

  test('replaces a quota, and is replaced by one', async () => {
    const limiter = rateLimiter({ quota: free, store: modelStore(fakeClock()) })
    limiter.replace({ quota: planOf })
    expect((await limiter.consume('ann')).limit).toBe(3)
    limiter.replace({ quota: perMinute(2) })
    expect(await limiter.consume('ann')).toMatchObject({ limit: 2, remaining: 0 })
  })
})
