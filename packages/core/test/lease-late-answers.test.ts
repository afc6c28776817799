import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test, vi } from 'vitest'
import {
  perDay,
  perMinute,
  perSecond,
  rateLimiter,
  type Store,
  StoreError,
  withLeases,
  withSharedQuota,
} from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { allowedOf, consume, type Limiter, setUp } from './leasing.ts'
import { settled } from './sharing.ts'

describe('a lease', () => {
  // Our clock counts from before the store was asked: what the bucket refills while an answer is late is not spent.
  test('is as old as the call for it, however late that is answered', async () => {
    const clock = fakeClock()
    const model = modelStore(clock)
    let delayMs = 0
    const late: Store = {
      ...faultyStore(model),
      async take(ops) {
        const taken = model.takeSync(ops)
        clock.advance(delayMs)
        return taken
      },
    }
    const quota = perSecond(100)
    const store = withLeases(late, { requests: 50, stopwatch: () => clock() / 1000 })
    const [limiter, direct] = [store, late].map((each) =>
      rateLimiter({ quota, store: each, name: 'p', deadline: '1h' }),
    ) as [Limiter, Limiter]
    await consume(limiter, 7)
    // Eight are taken, after seven; both are refilled before the answer comes.
    delayMs = 150
    await consume(limiter, 1)
    delayMs = 0
    expect((await direct.consume('a', 100)).allowed).toBe(true)
    expect(await allowedOf(limiter, 10)).toBe(0)
  })

  test('that is answered a second late is not kept, as other calls did not wait for it', async () => {
    const clock = fakeClock()
    const model = modelStore(clock)
    let [delayMs, calls] = [0, 0]
    const late: Store = {
      ...faultyStore(model),
      async take(ops) {
        calls++
        const taken = model.takeSync(ops)
        clock.advance(delayMs)
        return taken
      },
    }
    const store = withLeases(late, { requests: 50, maxLoss: '1h', stopwatch: () => clock() / 1000 })
    const limiter = rateLimiter({ quota: perMinute(100), store, name: 'p', deadline: '1h' })
    await consume(limiter, 7)
    delayMs = 1_001
    await consume(limiter, 1)
    delayMs = 0
    await consume(limiter, 1)
    expect(calls).toBe(5)
  })

  // Each request refunded its cost by the answer to the call for all of them: units were minted, or stayed taken.
  test.each(['lease', 'share'])('that fails and is taken late is refunded once: a %s', async (kind) => {
    const clock = fakeClock()
    const model = modelStore(clock)
    const deliver: (() => void)[] = []
    let isLate = false
    /** A store that times calls out itself, and delivers their answers later. */
    const slow = <T>(work: () => T): Promise<T> => {
      if (!isLate) return Promise.resolve(work())
      const late = new Promise<T>((resolve) => deliver.push(() => resolve(work())))
      return Promise.reject(new StoreError('late', undefined, { reason: 'timeout', late }))
    }
    const remote: Store = {
      take: (ops) => slow(() => model.takeSync(ops)),
      takeEach: (batches) => slow(() => batches.map((ops) => model.takeSync(ops))),
      delete: (keys) => model.delete(keys),
    }
    const stopwatch = () => clock() / 1000
    const store =
      kind === 'lease'
        ? withLeases(remote, { requests: 100, maxLoss: '1h', stopwatch })
        : withSharedQuota(remote, { margin: 0.5, stopwatch })
    const limiter = rateLimiter({ quota: perDay(1_000), store, name: 'p', deadline: '1h', onStoreError: 'throw' })
    const direct = rateLimiter({ quota: perDay(1_000), store: model, name: 'p' })
    await consume(limiter, 3)
    await direct.consume('a', 100)
    const before = (await direct.peek('a')).remaining
    isLate = true
    const calls = Array.from({ length: 18 }, () => limiter.consume('a'))
    const ends = await Promise.allSettled(calls)
    expect(ends.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(10)
    isLate = false
    for (const each of deliver) each()
    await settled()
    expect((await direct.peek('a')).remaining).toBe(before)
  })

  // The process would have ended by an unhandled rejection, which fails a test run.
  test.each([[[]], 'no answer', [undefined]])(
    'that is answered late and invalidly ends nothing: %o',
    async (answer) => {
      const clock = fakeClock()
      const model = modelStore(clock)
      let isLate = false
      const late = () => Promise.reject(new StoreError('', 0, { reason: 'timeout', late: Promise.resolve(answer) }))
      const remote: Store = {
        take: (ops) => (isLate ? late() : model.take(ops)),
        delete: (keys) => model.delete(keys),
      }
      const store = withLeases(remote, { requests: 100, maxLoss: '1h', stopwatch: () => clock() / 1000 })
      const limiter = rateLimiter({ quota: perDay(1_000), store, name: 'p', deadline: '1h', onStoreError: 'throw' })
      await consume(limiter, 3)
      isLate = true
      await expect(limiter.consume('a')).rejects.toThrow()
      await settled()
    },
  )

  // Without an end to the wait, the key would fail in this process for as long as it runs.
  test('that the store never answers is not waited for by those who come a second later', async () => {
    const { clock, shared, limiter, stores } = setUp()
    await consume(limiter, 3)
    shared.break('frozen')
    void limiter.consume('a')
    shared.break('none')
    clock.advance(1_001)
    await consume(limiter, 1)
    expect((await limiter.peek('a')).allowed).toBe(true)
    await stores[0]?.release()
  })

  // On a connection of a pool that fell silent: the key then failed for as long as the process ran.
  test.each([
    ['lease', 'taken'],
    ['lease', 'returned'],
    ['share', 'taken'],
    ['share', 'returned'],
  ])('that is lost delays other work on the key for a second at most: a %s that is %s', async (kind, what) => {
    const clock = fakeClock()
    const model = modelStore(clock)
    let isLost = false
    const answer = <T>(work: () => T): Promise<T> => {
      if (!isLost) return Promise.resolve(work())
      isLost = false
      return new Promise(() => {})
    }
    const remote: Store = {
      take: (ops) => answer(() => model.takeSync(ops)),
      takeEach: (batches) => answer(() => batches.map((ops) => model.takeSync(ops))),
      delete: (keys) => answer(() => model.deleteSync(keys)),
    }
    const stopwatch = () => clock() / 1000
    const store =
      kind === 'lease'
        ? withLeases(remote, { requests: 4, maxLoss: '1h', stopwatch })
        : withSharedQuota(remote, { margin: 0.5, stopwatch })
    const limiter = rateLimiter({ quota: perDay(1_000), store, name: 'p', deadline: '1h', onStoreError: 'throw' })
    await consume(limiter, 4)
    isLost = true
    // Until the store is called.
    for (let i = 0; i < 1_000 && isLost; i++) void (what === 'taken' ? limiter.consume('a') : limiter.peek('a'))
    expect(isLost).toBe(false)
    const peeked = limiter.peek('a')
    await settled()
    clock.advance(60_000)
    await vi.advanceTimersByTimeAsync(60_000)
    expect((await peeked).allowed).toBe(true)
    expect((await limiter.refund('a')).allowed).toBe(true)
    expect(await limiter.reset('a')).toBe(true)
    await consume(limiter, 1)
  })

  test('is not taken for a caller who has stopped waiting', async () => {
    const { shared, stores, limiter } = setUp()
    await consume(limiter, 3)
    shared.break('slow')
    const take = { policy: 'p', key: 'a', step: stepFor(perSecond(1_000), 'consume', 400) }
    const first = limiter.consume('a')
    const late = stores[0]?.take([take], undefined, { atMs: performance.now() - 1 })
    const refund = { ...take, step: stepFor(perSecond(1_000), 'refund', 1) }
    const lateRefund = stores[0]?.take([refund], undefined, { atMs: performance.now() - 1 })
    const ends = Promise.allSettled([late, lateRefund])
    shared.break('none')
    await shared.thaw()
    expect((await first).allowed).toBe(true)
    expect(await ends).toMatchObject([
      { status: 'rejected', reason: { code: 'ERR_SPILLWAY_STORE', reason: 'timeout' } },
      { status: 'rejected', reason: { code: 'ERR_SPILLWAY_STORE', reason: 'timeout' } },
    ])
    expect((await limiter.peek('a')).remaining).toBe(996)
  })

  test('that cannot be taken fails for all who waited, and may be taken again', async () => {
    const { limiter, shared } = setUp()
    await consume(limiter, 3)
    const { calls } = shared
    shared.break('failing')
    const answers = await Promise.allSettled([limiter.consume('a'), limiter.consume('a'), limiter.consume('a')])
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(shared.calls).toBe(calls + 1)
    shared.break('none')
    await consume(limiter, 1)
  })
})
