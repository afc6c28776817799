import { modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import {
  fixedWindow,
  leakyBucket,
  penalty,
  perSecond,
  type Quota,
  RateLimitedError,
  rateLimiter,
  type Store,
} from '../src/index.ts'
import { type FakeRequest, reader } from './fake-request.ts'

const START = Date.UTC(2026, 0, 1)

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const syncStore = () => modelStore(() => (START + Date.now()) * 1_000)
const remoteStore = (): Store => {
  const { take, delete: remove } = syncStore()
  return { take, delete: remove }
}

const quotas: readonly (readonly [string, Quota])[] = [
  ['a bucket', perSecond(1)],
  ['a queue', leakyBucket({ limit: 1, per: '1s', queue: 9 })],
  ['a window', fixedWindow({ limit: 1, window: '1s' })],
]
const everyKind = quotas.flatMap(([name, quota]) =>
  [syncStore, remoteStore].map((makeStore) => [name, makeStore.name, quota, makeStore] as const),
)

function callers(limiter: ReturnType<typeof rateLimiter>) {
  const turns: string[] = []
  const call = (name: string, maxWait?: '2s'): Promise<unknown> =>
    limiter.wait('api', maxWait ? { maxWait } : {}).then(
      () => turns.push(`${name}@${Date.now() / 1_000}`),
      (error: unknown) => {
        const { decision } = error as RateLimitedError
        turns.push(`${name} ${error instanceof RateLimitedError && decision.policy}@${Date.now() / 1_000}`)
      },
    )
  return { turns, call }
}

// They were served during the block: it only denied callers who came later.
describe.each(everyKind)('a block made meanwhile, of %s, %s', (_, _store, quota, makeStore) => {
  test('holds calls that wait already, in their order, and denies those that wait no longer', async () => {
    const store = makeStore()
    const limiter = rateLimiter({ quota, store, blocks: true })
    const { turns, call } = callers(limiter)
    const calls = [call('a'), call('b'), call('c'), call('d', '2s').then(() => call('e'))]
    await vi.advanceTimersByTimeAsync(500)
    // In another process, which has a limiter of its own.
    await rateLimiter({ quota, store, blocks: true }).block('api', '5s')
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    expect(turns[0]).toBe('a@0')
    expect(turns.filter((turn) => /^[bce]@/.test(turn)).map((turn) => turn[0])).toEqual(['b', 'c', 'e'])
    expect(turns.every((turn) => turn === 'a@0' || turn.includes(' ') || Number(turn.slice(2)) >= 5.5)).toBe(true)
  })

  test('that is over before their turn holds none', async () => {
    const limiter = rateLimiter({ quota, store: makeStore(), blocks: true })
    const { turns, call } = callers(limiter)
    const calls = [call('a'), call('b'), call('c')]
    await vi.advanceTimersByTimeAsync(100)
    await limiter.block('api', '300ms')
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    expect(turns).toEqual(['a@0', 'b@1', 'c@2'])
  })

  test('of a limiter with a penalty holds them, too, and no block that it starts by itself', async () => {
    const limiter = rateLimiter({
      quotas: { rate: quota, abuse: penalty({ after: 9, within: '1h', block: '5s' }) },
      store: makeStore(),
    })
    const { turns, call } = callers(limiter)
    const calls = [call('a'), call('b')]
    await vi.advanceTimersByTimeAsync(500)
    await limiter.block('api', '3s')
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    expect(turns).toEqual(['a@0', 'b@3.5'])
  })
})

test('a delayed request whose key is blocked meanwhile is denied at its turn', async () => {
  const quota = leakyBucket({ limit: 1, per: '1s', queue: 9 })
  const options: RateLimitOptions<FakeRequest> = { quota, blocks: true, store: syncStore() } as never
  const guard = httpGuard<FakeRequest>(options as never, reader)
  const statuses: (number | undefined)[] = []
  const send = async () => statuses.push((await guard({})).denial?.status ?? 200)
  const all = [send(), send(), send()]
  await vi.advanceTimersByTimeAsync(500)
  await guard.byKey.block('203.0.113.7', '1500ms')
  await vi.runAllTimersAsync()
  await Promise.all(all)
  expect(statuses).toEqual([200, 429, 200])
})
