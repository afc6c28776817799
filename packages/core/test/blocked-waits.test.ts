import { describe, expect, test, vi } from 'vitest'
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
import { fakeTimeStore, useFakeTime } from './fake-time.ts'

useFakeTime()

const syncStore = () => fakeTimeStore()
const remoteStore = (): Store => {
  const { take, delete: remove, deleteAll = async () => 0 } = syncStore()
  return { take, delete: remove, deleteAll }
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

// The units of a held caller were behind those of later turns: it acquired again, and was served after them.
describe.each(everyKind)('a block that ends before later turns, of %s, %s', (_, _store, quota, makeStore) => {
  test.each([
    ['1500ms', 2],
    ['1700ms', 2.2],
    ['2s', 2.5],
    ['2500ms', 3],
  ] as const)('for %s lets none behind overtake a held caller', async (duration, freeAt) => {
    const store = makeStore()
    const limiter = rateLimiter({ quota, store, blocks: true })
    const { turns, call } = callers(limiter)
    const calls = ['a', 'b', 'c', 'd', 'e'].map((name) => call(name))
    await vi.advanceTimersByTimeAsync(500)
    await rateLimiter({ quota, store, blocks: true }).block('api', duration)
    await vi.advanceTimersByTimeAsync(200)
    // One who comes while the key is blocked is behind those who came before.
    calls.push(call('f'))
    await vi.advanceTimersByTimeAsync(800)
    calls.push(call('g'))
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    expect(turns.map((turn) => turn[0])).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    const times = turns.map((turn) => Number(turn.slice(2)))
    expect(times[1]).toBe(freeAt)
    expect(times.at(-1)).toBeLessThanOrEqual(freeAt + 6)
  })

  test('leaves no unit of a held caller that aborts', async () => {
    const limiter = rateLimiter({ quota, store: makeStore(), blocks: true })
    const { turns, call } = callers(limiter)
    const calls = [call('a'), call('b'), call('c')]
    await vi.advanceTimersByTimeAsync(500)
    const abort = new AbortController()
    calls.push(limiter.wait('api', { signal: abort.signal }).catch(() => turns.push('left')))
    await limiter.block('api', '3s')
    await vi.advanceTimersByTimeAsync(1_000)
    abort.abort()
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    expect(turns.map((turn) => turn.split('@')[0])).toEqual(['a', 'left', 'b', 'c'])
    expect((await limiter.peek('api')).resetAfterMs).toBe(1_000)
  })
})

// They waited for the end of the block, or for the turn that they had before, and those who came then overtook them.
describe.each(everyKind)('callers who wait for %s, %s', (_, _store, quota, makeStore) => {
  test('go on when their key is unblocked', async () => {
    const store = makeStore()
    const limiter = rateLimiter({ quota, store, blocks: true })
    const { turns, call } = callers(limiter)
    const calls = [call('a'), call('b'), call('c')]
    await vi.advanceTimersByTimeAsync(500)
    await limiter.block('api', '1h')
    await vi.advanceTimersByTimeAsync(2_500)
    calls.push(call('d'))
    await vi.advanceTimersByTimeAsync(0)
    await rateLimiter({ quota, store, blocks: true }).unblock('api')
    calls.push(call('e'))
    await vi.advanceTimersByTimeAsync(6_000)
    expect(turns).toEqual(['a@0', 'b@3', 'c@4', 'd@5', 'e@6'])
    await Promise.all(calls)
  })

  test.each(['reset', 'resetAll'] as const)('go on at their new turn after %s', async (verb) => {
    const limiter = rateLimiter({ quota, store: makeStore(), blocks: true })
    const { turns, call } = callers(limiter)
    const calls = ['a', 'b', 'c', 'd'].map((name) => call(name))
    await vi.advanceTimersByTimeAsync(500)
    if (verb === 'reset') await limiter.reset('api')
    else await limiter.resetAll()
    calls.push(call('e'))
    await vi.advanceTimersByTimeAsync(6_000)
    expect(turns.map((turn) => turn[0])).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(turns[1]).toBe('b@0.5')
    await Promise.all(calls)
  })

  test('stay in their order after a reset of a blocked key', async () => {
    const limiter = rateLimiter({ quota, store: makeStore(), blocks: true })
    const { turns, call } = callers(limiter)
    const calls = ['a', 'b', 'c'].map((name) => call(name))
    await vi.advanceTimersByTimeAsync(500)
    await limiter.block('api', '1h')
    await vi.advanceTimersByTimeAsync(1_500)
    await limiter.reset('api')
    await vi.advanceTimersByTimeAsync(6_000)
    expect(turns.slice(0, 2)).toEqual(['a@0', 'b@2'])
    expect(turns.map((turn) => turn[0])).toEqual(['a', 'b', 'c'])
    await Promise.all(calls)
  })

  test('of another key are not held by it', async () => {
    const limiter = rateLimiter({ quota, store: makeStore(), blocks: true })
    const { turns, call } = callers(limiter)
    const calls = ['a', 'b'].map((name) => call(name))
    await vi.advanceTimersByTimeAsync(500)
    await limiter.reset('other')
    await limiter.unblock('other')
    await vi.advanceTimersByTimeAsync(6_000)
    expect(turns).toEqual(['a@0', 'b@1'])
    await Promise.all(calls)
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

test.each([true, false])('requests that are delayed go on when their key is reset: maxWait %s', async (isPatient) => {
  const quota = isPatient ? perSecond(1) : leakyBucket({ limit: 1, per: '1s', queue: 9 })
  const options = { quota, store: syncStore(), ...(isPatient && { maxWait: '1m' }) }
  const guard = httpGuard<FakeRequest>(options as RateLimitOptions<FakeRequest>, reader)
  const times: string[] = []
  const send = async (name: string) => times.push(`${name}${(await guard({})).denial?.status ?? ''}@${Date.now()}`)
  const all = [send('a'), send('b'), send('c')]
  await vi.advanceTimersByTimeAsync(500)
  await guard.byKey.reset('203.0.113.7')
  await vi.runAllTimersAsync()
  await Promise.all(all)
  expect(times).toEqual(['a@0', 'b@500', 'c@1500'])
})
