import { fakeClock } from '@spillway/conformance'
import { perSecond, tokenBucket } from '@spillway/core'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ours } from './ours.ts'
import { GuavaScript } from './published/guava.ts'

/** The script's clock in 2026, as ours. */
const T0 = 1_767_225_600_000_000

/** The text's algorithm here: a request passes once the last one is paid for, and the next one pays for it. */
const payLater = (rate: number, burst: number) => tokenBucket({ limit: rate, per: '1s', burst, overdraft: 1_000 })

describe('a reservation with a timeout', () => {
  test('is accepted now, accepted with a wait, or rejected: three distinct answers', async () => {
    const { at } = ours(payLater(1, 1))
    const tryAcquire = async (ms: number, maxWait: number) => {
      const { allowed, delayMs, retryAfterMs } = await at(ms).reserve('alice', { maxWait })
      return [allowed, delayMs, retryAfterMs]
    }
    expect(await tryAcquire(0, 0)).toEqual([true, 0, 0])
    expect(await tryAcquire(0, 0)).toEqual([true, 0, 0])
    expect(await tryAcquire(0, 0)).toEqual([false, 0, 1_000])
    expect(await tryAcquire(15.663, 1_000)).toEqual([true, 984.337, 0])
    expect(await tryAcquire(23.367, 500)).toEqual([false, 0, 1_976.633])
  })

  test('G3: there, both the third and the fourth answer are a number of microseconds', () => {
    const theirs = new GuavaScript()
    const acquire = (ms: number, timeout?: number) => theirs.acquire('alice', 1, 1, 1, T0 + ms * 1_000, timeout)
    expect([acquire(0), acquire(0), acquire(15.663), acquire(23.367, 500_000)]).toEqual([0, 0, 984_337, 1_976_633])
  })

  test('a caller can leave before its turn, and the ones behind it move up', async () => {
    const { at } = ours(payLater(1, 1))
    at(0).consumeSync('alice', 4)
    const left = await at(0).reserve('alice', { cost: 5 })
    expect(left.delayMs).toBe(3_000)
    await left.cancel()
    expect((await at(0).reserve('alice')).delayMs).toBe(3_000)
  })
})

describe('a bucket that starts empty', () => {
  beforeEach(() => vi.useFakeTimers({ now: 0 }))
  afterEach(() => vi.useRealTimers())

  test('lets weights 1, 1, 2, 4, 8, 1 at one a second sleep for 0, 1, 1, 2, 4, 8 seconds', async () => {
    const limiter = rateLimiter({ quota: payLater(1, 1), store: memoryStore({ clock: () => T0 + Date.now() * 1_000 }) })
    // Guava's own trace "R0, R1, R1, R2, R4, R8" starts with nothing stored, where ours has its burst.
    await limiter.charge('api')
    const trace: number[] = []
    const acquireAll = async (): Promise<void> => {
      for (const cost of [1, 1, 2, 4, 8, 1]) {
        const asked = Date.now()
        await limiter.wait('api', { cost })
        trace.push((Date.now() - asked) / 1_000)
      }
    }
    const done = acquireAll()
    await vi.runAllTimersAsync()
    await done
    expect(trace).toEqual([0, 1, 1, 2, 4, 8])
  })
})

describe('G1: a key that expires after ten seconds', () => {
  test('is full again there: 100 at once, and 100 more after 10.6 s; ours has ten', async () => {
    const theirs = new GuavaScript()
    const acquire = (ms: number) => theirs.acquire('alice', 100, 1, 100, T0 + ms * 1_000, 0)
    expect([acquire(0), acquire(10_600), theirs.hashes.get('alice')?.storedPermits]).toEqual([0, 0, 0])
    const { at } = ours(perSecond(1, { burst: 100 }))
    at(0).consumeSync('alice', 100)
    expect(await at(10_600).peek('alice')).toMatchObject({ remaining: 10 })
  })

  test('forgives a debt there: 40 s are owed, and 10.6 s later five more are granted; ours waits all of them', () => {
    const theirs = new GuavaScript()
    const acquire = (ms: number, units: number) => theirs.acquire('alice', 1, 0.1, units, T0 + ms * 1_000, 0)
    expect([acquire(0, 5), acquire(20, 1), acquire(10_600, 5)]).toEqual([0, 39_980_000, 0])
    const { at } = ours(tokenBucket({ limit: 1, per: '10s', burst: 1, overdraft: 10 }))
    expect(at(0).consumeSync('alice', 5)).toMatchObject({ allowed: true })
    expect(at(20).consumeSync('alice')).toMatchObject({ allowed: false, retryAfterMs: 39_980 })
    expect(at(10_600).consumeSync('alice', 5)).toMatchObject({ allowed: false, retryAfterMs: 29_400 })
    expect(at(40_000).consumeSync('alice', 5)).toMatchObject({ allowed: true })
  })
})

describe('G4: a thousand permits of a bucket of ten', () => {
  test('are granted there at once, and 990 seconds later there is something for the next caller', () => {
    const theirs = new GuavaScript()
    const acquire = (units: number) => theirs.acquire('alice', 10, 1, units, T0)
    expect([acquire(1_000), acquire(1)]).toEqual([0, 990_000_000])
  })

  test('are never granted here, unless the quota says that its requests may be paid for later', async () => {
    const strict = ours(perSecond(1, { burst: 10 }))
    expect(strict.at(0).consumeSync('alice', 1_000)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
    const lenient = ours(payLater(1, 10))
    expect(lenient.at(0).consumeSync('alice', 1_000)).toMatchObject({ allowed: true, delayMs: 0 })
    expect(await lenient.at(0).reserve('alice')).toMatchObject({ allowed: true, delayMs: 990_000 })
    expect(lenient.at(0).consumeSync('alice', 1_011)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
  })
})

describe('G5: arguments that are none', () => {
  test('fail inside the script there: no timeout, and no rate', () => {
    const theirs = new GuavaScript()
    expect(() => theirs.acquire('alice', 1, 1, 1, T0, '')).toThrow('attempt to compare nil with number')
    expect([theirs.acquire('bob', 1, 0, 2, T0), theirs.acquire('bob', 1, 0, 2, T0)]).toEqual([0, -(2 ** 63)])
  })

  test('are denied here before anything is asked, with what to write instead', async () => {
    await expect(ours(perSecond(1)).limiter.reserve('alice', { maxWait: '' as never })).rejects.toThrow(
      'maxWait must be a positive duration',
    )
    expect(() => perSecond(-1)).toThrow('perSecond limit must be a whole number, 0 or more; got -1.')
  })
})

test('G7: a key never seen is full there because 1970 is long ago; here because it has no state, at any time', () => {
  const theirs = new GuavaScript()
  theirs.acquire('alice', 10, 1, 10, T0)
  theirs.acquire('bob', 10, 1, 10, 0)
  expect([theirs.acquire('alice', 10, 1, 1, T0, 0), theirs.acquire('bob', 10, 1, 1, 0, 0)]).toEqual([0, 10_000_000])
  for (const clock of [fakeClock(T0), fakeClock(0)]) {
    const limiter = rateLimiter({ quota: perSecond(1, { burst: 10 }), store: memoryStore({ clock }) })
    expect(limiter.consumeSync('alice', 10)).toMatchObject({ allowed: true, remaining: 0 })
  }
})
