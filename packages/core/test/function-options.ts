import { fakeClock, modelStore } from '@spillway/conformance'
import { beforeEach, vi } from 'vitest'
import { httpGuard, type RateLimitOptions, type RequestReader } from '../src/http/index.ts'
import { perMinute, rateLimiter, type Store } from '../src/index.ts'

// Every function option may return a promise or any other thenable, and what it returns is checked.

export interface FakeRequest {
  readonly path?: string
  readonly user?: unknown
  readonly gone?: Set<() => void>
}

interface FakeResponse {
  readonly tokens: number
}

type Options = RateLimitOptions<FakeRequest, FakeResponse>

const reader: RequestReader<FakeRequest> = {
  address: () => 'ann',
  peer: () => 'ann',
  method: () => 'GET',
  path: ({ path = '/' }) => path,
  header: () => undefined,
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: ({ gone }, listener) => {
    gone?.add(listener)
    return () => gone?.delete(listener)
  },
}

export function setUp(options: Partial<Options>) {
  const store = modelStore(fakeClock())
  const guard = httpGuard({ store, ...options } as Options & { store: Store }, reader)
  /** What is left of 100 units of a policy for a key. */
  const left = async (key: string, name = 'default') =>
    (await rateLimiter({ name, quota: perMinute(100), store }).peek(key)).remaining
  return { guard, left, send: async (request: FakeRequest = {}) => guard({ ...request }) }
}

export const quota = perMinute(100)
// biome-ignore lint/suspicious/noThenProperty: it is to be one.
export const forwardingOf = (value: unknown) => ({ then: (next: (value: unknown) => void) => next(value) })

export let warn: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})

/** Node reports unhandled rejections when a turn of the event loop is over. */
export const turn = () => new Promise((resolve) => setImmediate(resolve))
