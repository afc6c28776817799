import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../memory/src/index.ts'
import { inFlight, rateLimiter } from '../src/index.ts'

const limiterOf = (limit: number) => rateLimiter({ quota: inFlight(limit), store: memoryStore() })

describe('slots of a limiter', () => {
  it('allows as many as are free, and again what was released', async () => {
    const limiter = limiterOf(2)
    const [first, second, third] = [await limiter.acquire('a'), await limiter.acquire('a'), await limiter.acquire('a')]
    expect(
      [first, second, third].map(({ allowed, remaining, retryAfterMs }) => [allowed, remaining, retryAfterMs]),
    ).toEqual([
      [true, 1, 0],
      [true, 0, 0],
      [false, 0, 0],
    ])
    await first.release()
    await first.release()
    expect((await limiter.acquire('a')).allowed).toBe(true)
    expect((await limiter.acquire('a')).allowed).toBe(false)
    await third.release()
    expect((await limiter.acquire('a')).allowed).toBe(false)
    expect((await limiter.acquire('b')).allowed).toBe(true)
  })
})
