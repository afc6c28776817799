import { perHour, type RateLimiter, type RateLimiterOptions, rateLimiter } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { until } from '../../../test/services/redis-cluster.ts'
import { type RedisClient, redisStore } from '../src/index.ts'

// These tests freeze, kill and replace real servers. Detection by servers and clients needs real time. The logs of the
// circuit breaker are not tested here.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())

export const after: (() => unknown)[] = []
afterEach(async () => {
  for (const each of after.splice(0).reverse()) await each()
})

/** A limiter of 100 units per hour without a deny cache. It refills so slowly that refills hide no error. */
export const limiterOf = (client: RedisClient, options: Partial<RateLimiterOptions> = {}): RateLimiter =>
  rateLimiter({
    quota: perHour(100),
    store: redisStore(client, { denyCache: false }),
    name: 'p',
    deadline: 10_000,
    onStoreError: 'throw',
    ...options,
  } as RateLimiterOptions)

export const admits = async (limiter: RateLimiter, times: number): Promise<number> => {
  const decisions = await Promise.all(Array.from({ length: times }, () => limiter.consume('a')))
  return decisions.filter(({ allowed }) => allowed).length
}

/** The maximum number of units that refill from now on at 100 per hour, by the server's clock. */
export async function serverTimer(port: number): Promise<{ refilled(): Promise<number> }> {
  const admin = new Ioredis({ port })
  after.push(() => admin.disconnect())
  const seconds = async (): Promise<number> => {
    const [whole, micros] = await admin.time()
    return Number(whole) + Number(micros) / 1e6
  }
  const start = await seconds()
  return { refilled: async () => Math.floor(((await seconds()) - start) * (100 / 3_600)) }
}

export function expectBetween(value: number, lowest: number, highest: number): void {
  expect(value).toBeGreaterThanOrEqual(lowest)
  expect(value).toBeLessThanOrEqual(highest)
}

export const answers = (limiter: RateLimiter): Promise<void> =>
  until(() =>
    limiter.peek('a').then(
      () => true,
      () => false,
    ),
  )
