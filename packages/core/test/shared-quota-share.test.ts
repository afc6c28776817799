import { describe, expect, test, vi } from 'vitest'
import { type Decision, perDay, type RateLimiter } from '../src/index.ts'
import { quota, type Setting, setUp } from './sharing.ts'

describe('the share of one process', () => {
  /** One call in ten milliseconds, until the process has a share. */
  async function sharing(setting: Partial<Setting> = {}) {
    const set = setUp({ quota, ...setting })
    for (let i = 0; i < 200; i++) {
      void set.limiter.consume('a')
      await set.pass(10)
    }
    return set
  }
  const consumeAll = async (limiter: Awaited<ReturnType<typeof sharing>>['limiter']): Promise<Decision> => {
    for (;;) {
      const decision = await limiter.consume('a', 10)
      if (!decision.allowed) return decision
    }
  }

  test('is spent without calls', async () => {
    const { limiter, callsOf } = await sharing()
    const before = callsOf()
    for (let i = 0; i < 200; i++) expect((await limiter.consume('a')).allowed).toBe(true)
    expect(callsOf() - before).toBeLessThan(10)
  })

  test('a denial reports when its process asks again, and a retry by then is allowed', async () => {
    const { limiter, clock, callsOf } = await sharing()
    const { retryAfterMs } = await consumeAll(limiter)
    const before = callsOf()
    // Half a hold at least, and a hold at most.
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(600)
    clock.advance(retryAfterMs - 1)
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect((await limiter.consume('a')).allowed).toBe(true)
    expect(callsOf()).toBeGreaterThanOrEqual(before)
  })

  test('is returned by a peek, a reset and a release, which also end a pause', async () => {
    const { limiter, direct, stores } = await sharing()
    await consumeAll(limiter)
    expect((await limiter.consume('a')).allowed).toBe(false)
    await limiter.reset('a')
    expect((await limiter.consume('a')).allowed).toBe(true)
    expect((await limiter.peek('a')).remaining).toBe(59_999)
    const held = await sharing()
    const { remaining } = await held.direct.peek('a')
    await (held.stores[0] as (typeof stores)[0]).release()
    expect((await held.direct.peek('a')).remaining).toBeGreaterThanOrEqual(remaining)
    expect((await direct.peek('a')).remaining).toBe(59_999)
  })

  // The pause ended only if the process had a share: a key that was reset was denied for 7 minutes more.
  test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
    ['a reset', (limiter) => limiter.reset('a')],
    ['a reset of all keys', (limiter) => limiter.resetAll()],
    ['a refund', (limiter) => limiter.refund('a', 50_000)],
  ])('that was not granted is asked for again after %s', async (_, restore) => {
    const { limiter } = setUp({ quota: perDay(100_000) })
    await limiter.consume('a', 100_000)
    const denied = await Promise.all([limiter.consume('a'), limiter.consume('a')])
    expect(denied.map(({ allowed }) => allowed)).toEqual([false, false])
    await restore(limiter)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  // A reset did not wait for it, and its answer began a pause after the reset.
  test('that is answered a second late begins no pause', async () => {
    const { limiter, direct, clock, model } = setUp({ quota: perDay(100_000) })
    await direct.consume('a', 100_000)
    await limiter.consume('a')
    model.break('slow')
    const late = limiter.consume('a')
    model.break('none')
    clock.advance(1_001)
    await limiter.reset('a')
    await direct.consume('a', 100_000)
    await model.thaw()
    expect((await late).allowed).toBe(false)
    await direct.reset('a')
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  // Each request took a share for the demand of 14 minutes, which was returned before the next one: two calls each.
  test('is not taken for requests that come less than once a second', async () => {
    const { limiter, clock, callsOf } = setUp({ quota: perDay(100_000) })
    for (let i = 0; i < 100; i++) {
      expect((await limiter.consume('a')).allowed).toBe(true)
      clock.advance(2_000)
      await vi.advanceTimersByTimeAsync(2_000)
    }
    expect(callsOf()).toBe(100)
  })

  test('lasts while the store fails', async () => {
    const { limiter, model, pass } = await sharing({ wayMs: 1 })
    model.break('failing')
    for (let i = 0; i < 3; i++) {
      const decision = limiter.consume('a')
      await pass(5)
      expect((await decision).allowed).toBe(true)
    }
    await pass(2_000)
    const failed = limiter.consume('a')
    failed.catch(() => {})
    await pass(10)
    await expect(failed).rejects.toThrow()
  })
})
