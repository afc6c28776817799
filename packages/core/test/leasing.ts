import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { type LeaseOptions, perSecond, type Quota, rateLimiter, withLeases } from '../src/index.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

interface Options extends Omit<LeaseOptions, 'requests' | 'stopwatch'> {
  readonly processes?: number
  readonly requests?: number
}

/** Some processes that lease from one store, with one clock. */
export function setUp(
  quota: Quota = perSecond(1_000),
  { processes = 1, requests = 100, maxLoss = '1h', ...options }: Options = {},
) {
  const clock = fakeClock()
  const shared = faultyStore(modelStore(clock))
  const stores = Array.from({ length: processes }, () =>
    withLeases(shared, { requests, maxLoss, ...options, stopwatch: () => clock() / 1000 }),
  )
  const limiters = stores.map((store) =>
    rateLimiter({ quota, store, name: 'p', deadline: '1h', onStoreError: 'throw' }),
  )
  const [limiter, other = limiter] = limiters as [(typeof limiters)[0], (typeof limiters)[0]]
  const direct = rateLimiter({ quota, store: shared, name: 'p' })
  return { clock, shared, stores, limiters, limiter, other, direct }
}

export type Limiter = ReturnType<typeof setUp>['limiter']

export const consume = async (limiter: Limiter, times: number, key = 'a'): Promise<void> => {
  for (let i = 0; i < times; i++) expect((await limiter.consume(key)).allowed).toBe(true)
}
export const allowedOf = async (limiter: Limiter, times: number): Promise<number> => {
  const decisions = await Promise.all(Array.from({ length: times }, () => limiter.consume('a')))
  return decisions.filter(({ allowed }) => allowed).length
}
