import { type FakeClock, fakeClock, modelStore } from '@spillway/conformance'
import { httpGuard, type RateLimitOptions, type RequestReader, type Verdict } from '../src/http/index.ts'
import type { Store } from '../src/index.ts'

/** A request that the reader of these tests reads. */
export interface FakeRequest {
  readonly ip?: string
  readonly method?: string
  readonly path?: string | readonly string[]
  readonly headers?: Record<string, string>
  readonly user?: Record<string, unknown>
  readonly gone?: Set<() => void>
}

export const reader: RequestReader<FakeRequest> = {
  address: ({ ip = '203.0.113.7' }) => ip,
  peer: ({ ip = '203.0.113.7' }) => ip,
  method: ({ method = 'GET' }) => method,
  path: ({ path = '/' }) => path,
  header: ({ headers }, name) => headers?.[name],
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: ({ gone }, listener) => {
    gone?.add(listener)
    return () => gone?.delete(listener)
  },
}

/** A handler's answer: what the request really cost. */
export interface FakeResponse {
  readonly tokens: number
}

/** A guard on a store in memory. */
export function setUp(options: Partial<RateLimitOptions<FakeRequest, FakeResponse>>, clock: FakeClock = fakeClock()) {
  const store = modelStore(clock)
  const guard = httpGuard(
    { store, ...options } as RateLimitOptions<FakeRequest, FakeResponse> & { store: Store },
    reader,
  )
  const evaluate = (request: FakeRequest = {}): Verdict<FakeResponse> => {
    const verdict = guard({ ...request })
    if (verdict instanceof Promise) throw new Error('a store in this process answers at once')
    return verdict
  }
  return { clock, guard, evaluate, store, status: (request?: FakeRequest) => evaluate(request).denial?.status ?? 200 }
}
