import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute, rateLimiter } from '../src/index.ts'

export const logged: string[] = []

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(console, 'warn').mockImplementation((message: string) => logged.push(message))
})

afterEach(() => {
  vi.useRealTimers()
  logged.length = 0
})

export const elsewhere = () => rateLimiter({ name: 'elsewhere', quota: perMinute(3), store: modelStore(fakeClock()) })

export function setUp(options: Partial<RateLimitOptions<object>> = {}) {
  const inner = modelStore(fakeClock())
  const store = faultyStore(inner)
  const guard = httpGuard(
    { ...(options.policies ? {} : { quota: perMinute(3) }), ...options, store } as RateLimitOptions<object> & {
      store: typeof store
    },
    plainReader,
  )
  const local = rateLimiter({ quota: perMinute(3), store: inner })
  return { store, send: async () => guard({}), left: async () => (await local.peek('203.0.113.7')).remaining }
}
