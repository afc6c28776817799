import { faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { httpGuard } from '../src/http/index.ts'
import {
  fixedWindow,
  leakyBucket,
  perSecond,
  type Quota,
  type RateLimiter,
  rateLimiter,
  type Store,
  type SyncStore,
  tokenBucket,
} from '../src/index.ts'
import { type FakeRequest, reader } from './fake-request.ts'

const START = Date.UTC(2026, 0, 1)

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const clock = (): number => (START + Date.now()) * 1_000

/** A store that counts its takes; a remote one answers in a later microtask. */
function countingStore(isRemote = false): { store: Store; takes: () => number } {
  const model = modelStore(clock)
  let takes = 0
  const takeSync: SyncStore['takeSync'] = (ops, at) => {
    takes += ops.length
    return model.takeSync(ops, at)
  }
  const take: Store['take'] = async (ops, at) => takeSync(ops, at)
  const remote: Store = { take, delete: model.delete }
  return {
    store: isRemote ? remote : ({ ...remote, takeSync, deleteSync: model.deleteSync } as SyncStore),
    takes: () => takes,
  }
}

/** Callers that wait; each notes its number when it is served. */
function setUp(limiter: RateLimiter) {
  const served: number[] = []
  const aborts: AbortController[] = []
  const call = (key = 'api', cost = 1): Promise<void> => {
    const number = aborts.length
    const abort = new AbortController()
    aborts.push(abort)
    return limiter.wait(key, { cost, signal: abort.signal }).then(
      () => void served.push(number),
      () => {},
    )
  }
  const calls = (count: number): readonly Promise<void>[] => Array.from({ length: count }, () => call())
  return { served, call, calls, leave: (number: number) => aborts[number]?.abort() }
}

describe.each([
  ['an in-memory store', 8_000, false],
  ['a remote store', 2_000, true],
])('a long queue, on %s', (_, length, isRemote) => {
  // Each that left restarted the timers of all behind it: 400 of them blocked a server for 13.7 s.
  test('has one timer, and one that leaves makes none and takes once', async () => {
    const { store, takes } = countingStore(isRemote)
    const { calls, leave, served } = setUp(rateLimiter({ quota: perSecond(10, { burst: 1 }), store }))
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const waiting = calls(length + 1)
    await vi.advanceTimersByTimeAsync(0)
    expect([served, takes()]).toEqual([[0], length + 1])
    // Of a remote store, each call has a deadline, and each refund another one.
    const before = timers.mock.calls.length
    if (!isRemote) expect(before).toBe(1)
    expect(vi.getTimerCount()).toBe(1)
    for (let i = 1; i <= 400; i++) leave(i)
    await vi.advanceTimersByTimeAsync(0)
    expect(takes()).toBe(length + 401)
    expect(timers.mock.calls.length - before).toBe(isRemote ? 2 * 400 : 0)
    await vi.advanceTimersByTimeAsync(100)
    expect(served).toEqual([0, 401])
    expect(await remainingMs(store)).toBe((length - 400) * 100)
    await vi.advanceTimersByTimeAsync(200)
    expect(served).toEqual([0, 401, 402, 403])
    for (let i = 404; i <= length; i++) leave(i)
    await Promise.all(waiting)
    expect([vi.getTimerCount(), await remainingMs(store)]).toEqual([0, 100])
  })
})

/** How long until the bucket of a limiter of ten a second is full again. */
async function remainingMs(store: Store): Promise<number> {
  return (await rateLimiter({ quota: perSecond(10, { burst: 1 }), store }).peek('api')).resetAfterMs
}

describe.each<[string, Quota]>([
  ['fixed window', fixedWindow({ limit: 3, window: '1s' })],
  ['refill', tokenBucket({ limit: 3, per: '1s', refill: '1s' })],
  ['token bucket', perSecond(3)],
  ['leaky bucket', leakyBucket({ limit: 3, per: '1s', queue: 100 })],
])('first come, first served: %s', (_, quota) => {
  // Each turn had a timer of its own, of a part of a millisecond: call 19 was served before call 17.
  // Nor had callers of unequal costs, who waited in queues of their own: call 7 was served before call 6.
  test.each([
    ['equal', () => 1],
    ['unequal', (number: number) => 1 + (number % 3)],
  ])(
    'callers of one window are served in their order, though time passes in their tick: %s costs',
    async (_, costOf) => {
      // Timers count from the start of the tick, the clocks go on.
      let passed = 0
      const now = performance.now.bind(performance)
      vi.spyOn(performance, 'now').mockImplementation(() => now() + passed / 1_000)
      const store = modelStore(() => {
        passed += 700
        return clock() + passed
      })
      const { call, served } = setUp(rateLimiter({ quota, store }))
      const waiting = Array.from({ length: 20 }, (_, i) => call('api', costOf(i)))
      await vi.advanceTimersByTimeAsync(20_000)
      await Promise.all(waiting)
      expect(served).toEqual(Array.from({ length: 20 }, (_, i) => i))
    },
  )

  // The event loop was blocked until their turns had come: one who called then was served before them.
  test('callers whose timer is late are served before one whose units are available at once', async () => {
    const { calls, served } = setUp(rateLimiter({ quota, store: countingStore().store }))
    const waiting = [...calls(6)]
    await vi.advanceTimersByTimeAsync(0)
    vi.setSystemTime(9_000)
    waiting.push(...calls(2))
    await vi.advanceTimersByTimeAsync(9_000)
    await Promise.all(waiting)
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('the answers of a remote store may take a time each', async () => {
    const model = modelStore(clock)
    let answers = 0
    const store: Store = {
      take: async (ops, at) => {
        const taken = model.takeSync(ops, at)
        const late = ((answers++ * 7) % 5) * 3
        // In order, as a connection answers.
        await new Promise((resolve) => setTimeout(resolve, 20 - late))
        return taken
      },
      delete: model.delete,
    }
    const { call, served } = setUp(rateLimiter({ quota, store }))
    const waiting: Promise<void>[] = []
    for (let i = 0; i < 12; i++) {
      waiting.push(call())
      await vi.advanceTimersByTimeAsync(20)
    }
    await vi.advanceTimersByTimeAsync(20_000)
    await Promise.all(waiting)
    expect(served).toEqual(Array.from({ length: 12 }, (_, i) => i))
  })
})

describe.each([
  ['an in-memory store', false],
  ['a remote store', true],
])('the tick of an abort, on %s', (_, isRemote) => {
  // Their units were refunded a microtask later: who called in the same tick waited behind turns of no caller.
  test('callers take the turns of those who have left', async () => {
    const { store } = countingStore(isRemote)
    const { calls, leave, served } = setUp(rateLimiter({ quota: perSecond(1), store }))
    calls(4)
    await vi.advanceTimersByTimeAsync(500)
    for (const number of [1, 2, 3]) leave(number)
    calls(1)
    await vi.advanceTimersByTimeAsync(500)
    expect(served).toEqual([0, 4])
    await vi.runAllTimersAsync()
  })
})

// They left from the first to the last, so that only the last turn was refunded: one who came then waited for 0.4 s.
test.each([
  ['an in-memory store', false],
  ['a remote store', true],
])('callers of one signal who wait for unequal units return all of them, on %s', async (_, isRemote) => {
  const limiter = rateLimiter({ quota: perSecond(10, { burst: 3 }), store: countingStore(isRemote).store })
  await limiter.wait('api', { cost: 3 })
  const abort = new AbortController()
  const left = [1, 2, 3].map((cost) => limiter.wait('api', { cost, signal: abort.signal }).catch(() => {}))
  await vi.advanceTimersByTimeAsync(0)
  abort.abort()
  expect((await limiter.reserve('api')).delayMs).toBe(100)
  await Promise.all(left)
})

// Node warned of a leak from the eleventh caller on.
test('thirty callers with one signal share its listener, and leave none behind', async () => {
  const { store } = countingStore()
  const limiter = rateLimiter({ quota: perSecond(1), store })
  const { signal } = new AbortController()
  const [added, removed] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
  const waiting = Array.from({ length: 31 }, () => limiter.wait('api', { signal }))
  await vi.advanceTimersByTimeAsync(30_000)
  expect((await Promise.all(waiting)).every(({ allowed }) => allowed)).toBe(true)
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
})

describe('one who leaves', () => {
  test('of several policies in two stores, gives back the last turn of both', async () => {
    const [one, two] = [countingStore(), countingStore(true)]
    const guard = httpGuard<FakeRequest>(
      {
        store: one.store,
        maxWait: '1m',
        policies: [
          { name: 'one', quota: perSecond(1) },
          { name: 'two', quota: perSecond(1), store: two.store },
        ],
      },
      reader,
    )
    const gone = Array.from({ length: 5 }, () => new Set<() => void>())
    const verdicts = gone.map((each) => Promise.resolve(guard({ gone: each })))
    await vi.advanceTimersByTimeAsync(500)
    for (const listeners of gone.slice(1, 3)) for (const listener of listeners) listener()
    await vi.advanceTimersByTimeAsync(0)
    const reset = [one, two].map(({ store }, i) =>
      rateLimiter({ quota: perSecond(1), name: ['one', 'two'][i] as string, store }).peek('203.0.113.7'),
    )
    expect((await Promise.all(reset)).map(({ resetAfterMs }) => resetAfterMs)).toEqual([2_500, 2_500])
    await vi.advanceTimersByTimeAsync(1_500)
    expect((await Promise.all(verdicts)).map(({ denial }) => denial?.status ?? 200)).toEqual([200, 499, 499, 200, 200])
  })

  test('in a queue that an outage has started, leaves the others their order', async () => {
    const store = faultyStore(modelStore(clock))
    store.break('failing')
    const limiter = rateLimiter({ quota: perSecond(1), store, logger: { warn: () => {} } })
    const { calls, leave, served } = setUp(limiter)
    const waiting = calls(5)
    await vi.advanceTimersByTimeAsync(500)
    leave(1)
    leave(3)
    await vi.advanceTimersByTimeAsync(2_500)
    expect(served).toEqual([0, 2, 4])
    await Promise.all(waiting)
  })
})

// Turns by the clock of this process were in front of those by the clock of the store: b and c were served at 2,500 ms.
test('turns that an outage has started leave those of the store when they are', async () => {
  const store = faultyStore(modelStore(clock))
  const limiter = rateLimiter({ quota: perSecond(1), store, logger: { warn: () => {} } })
  const served: string[] = []
  const call = (name: string) => limiter.wait('api').then(() => void served.push(`${name}@${Date.now()}`))
  const waiting = ['a', 'b', 'c'].map(call)
  await vi.advanceTimersByTimeAsync(500)
  store.break('failing')
  waiting.push(...['d', 'e', 'f'].map(call))
  await vi.advanceTimersByTimeAsync(3_000)
  await Promise.all(waiting)
  expect(served).toEqual(['a@0', 'd@500', 'b@1000', 'e@1500', 'c@2000', 'f@2500'])
})
