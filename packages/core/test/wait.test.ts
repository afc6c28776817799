import { faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  perDay,
  perSecond,
  type Quota,
  RateLimitedError,
  rateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type WaitOptions,
} from '../src/index.ts'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  // Whatever has been waited for, nothing is left behind.
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const START = Date.UTC(2026, 0, 1)

/** Callers under one quota, each noted down when it is its turn, with the second of its turn. */
function setUp(quota: Quota | Record<string, Quota>, blocks = false) {
  const store = modelStore(() => (START + Date.now()) * 1_000)
  const limiter =
    'kernel' in quota
      ? rateLimiter({ quota: quota as Quota, store, blocks })
      : rateLimiter({ quotas: quota, store, blocks })
  const turns: string[] = []
  const call = async (name: string, options: WaitOptions = {}): Promise<void> => {
    try {
      await limiter.wait('api', options)
      turns.push(`${name}@${Date.now() / 1_000}`)
    } catch (reason) {
      turns.push(`${name} ${reason instanceof RateLimitedError ? 'denied' : reason}@${Date.now() / 1_000}`)
    }
  }
  const all = async (calls: readonly Promise<void>[]): Promise<readonly string[]> => {
    await vi.runAllTimersAsync()
    await Promise.all(calls)
    return turns
  }
  const left = async (): Promise<number> => (await limiter.peek('api')).remaining
  return { limiter, turns, call, all, left }
}

const everyKind: readonly (readonly [string, Quota])[] = [
  ['token bucket', perSecond(1)],
  ['fixed window', fixedWindow({ limit: 1, window: '1s' })],
  ['fixed window from the first request', fixedWindow({ limit: 1, window: '1s', align: 'first' })],
  ['interval refill', tokenBucket({ limit: 1, per: '1s', refill: '1s' })],
  ['leaky bucket', leakyBucket({ limit: 1, per: '1s', queue: 9 })],
  ['sliding log', slidingLog({ limit: 1, window: '1s' })],
]

describe.each(everyKind)('waiting, %s', (_, quota) => {
  test('is first come, first served', async () => {
    const { call, all } = setUp(quota)
    expect(await all(['a', 'b', 'c', 'd'].map((name) => call(name)))).toEqual(['a@0', 'b@1', 'c@2', 'd@3'])
  })

  test('that would be too long fails at once, and takes nothing', async () => {
    const { limiter, call, all, left } = setUp(quota)
    const calls = [call('a'), call('b', { maxWait: '999ms' }), call('c', { maxWait: 0 }), call('d', { maxWait: '1s' })]
    expect([...(await all(calls))].sort()).toEqual(['a@0', 'b denied@0', 'c denied@0', 'd@1'])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await left()).toBe(quota.limit)
    expect(await limiter.wait('api')).toMatchObject({ allowed: true })
  })

  test('given up gives the units back, and the reason', async () => {
    const { call, turns, left } = setUp(quota)
    const abort = new AbortController()
    await call('a')
    const waiting = call('b', { signal: abort.signal })
    await vi.advanceTimersByTimeAsync(400)
    abort.abort('gone')
    await waiting
    expect(turns).toEqual(['a@0', 'b gone@0.4'])
    expect(vi.getTimerCount()).toBe(0)
    await vi.advanceTimersByTimeAsync(600)
    expect(await left()).toBe(quota.limit)
  })

  test('is not begun under a signal that has fired', async () => {
    const { call, turns, left } = setUp(quota)
    await call('a', { signal: AbortSignal.abort('gone') })
    expect([turns, await left()]).toEqual([['a gone@0'], quota.limit])
  })

  test('behind one who leaves moves up', async () => {
    const { call, all } = setUp(quota)
    const abort = new AbortController()
    const calls = [call('a'), call('b', { signal: abort.signal }), call('c')]
    await vi.advanceTimersByTimeAsync(500)
    abort.abort('gone')
    expect(await all(calls)).toEqual(['a@0', 'b gone@0.5', 'c@1'])
  })
})

// The README's line. Turns that were given back used to be given again while those behind still had theirs: nothing for
// four seconds, then twenty calls at one moment.
test('callers who give up after a second neither starve those who come nor let too many go at once', async () => {
  const { turns, call } = setUp(perSecond(5, { burst: 1 }))
  const calls: Promise<void>[] = []
  for (let i = 0; i < 20 * 20; i++) {
    const abort = new AbortController()
    setTimeout(() => abort.abort('gone'), 1_000)
    calls.push(call('in', { maxWait: '2s', signal: abort.signal }))
    await vi.advanceTimersByTimeAsync(50)
  }
  await vi.runAllTimersAsync()
  await Promise.all(calls)
  const times = turns.filter((turn) => turn.startsWith('in@')).map((turn) => Number(turn.slice(3)))
  for (const [i, first] of times.entries()) {
    // A timer fires up to a millisecond late.
    for (const [j, last] of times.entries()) if (j > i) expect(j - i).toBeLessThanOrEqual((last - first + 0.0011) * 5)
  }
  expect(times.length).toBeGreaterThanOrEqual(95)
})

describe('waiting', () => {
  test('denies no caller within maxWait: the window of a sliding window fades just after its end', async () => {
    const { call, all } = setUp(slidingWindow({ limit: 2, window: '1s' }))
    const turns = await all(['a', 'b', 'c', 'd', 'e'].map((name) => call(name)))
    expect(turns).toEqual(['a@0', 'b@0', 'c@1.001', 'd@1.501', 'e@2.001'])
  })

  test('reports in its error what was decided, and why', async () => {
    const { limiter } = setUp(perSecond(1))
    await limiter.wait('api')
    const late = limiter.wait('api', { maxWait: 500 })
    await expect(late).rejects.toThrow('policy "default" can allow 1 unit after 1000 ms, which is longer than maxWait')
    await expect(late).rejects.toMatchObject({
      name: 'RateLimitedError',
      code: 'ERR_SPILLWAY_RATE_LIMITED',
      decision: { allowed: false, policy: 'default', retryAfterMs: 1_000, violated: ['default'] },
    })
    await expect(limiter.wait('api', { cost: 2 })).rejects.toThrow(
      'a cost of 2 units is more than policy "default" ever allows',
    )
  })

  test('reports in its error a queue that is full', async () => {
    const { limiter } = setUp(leakyBucket({ limit: 1, per: '1s', queue: 1 }))
    const waits = Promise.all([limiter.wait('api'), limiter.wait('api')])
    await expect(limiter.wait('api')).rejects.toThrow(
      'the queue of policy "default" is full; it has room for 1 unit after 1000 ms, more than maxWait.',
    )
    await vi.advanceTimersByTimeAsync(1_000)
    await waits
  })

  // Reproduces a bug: a bucket rejected at once, as if its own turn were too far away.
  test('waits as long as another limiter asks, where that one decides without the store', async () => {
    const clock = (): number => (START + Date.now()) * 1_000
    const store = faultyStore(modelStore(clock))
    store.break('failing')
    const onStoreError = rateLimiter({ quota: perSecond(1), store: modelStore(clock) })
    await onStoreError.consume('api')
    const limiter = rateLimiter({ quota: perSecond(9), store, onStoreError, logger: { warn: () => {} } })
    const waits = Promise.all([limiter.wait('api'), limiter.wait('api', { maxWait: '2s' })])
    await expect(limiter.wait('api', { maxWait: '900ms' })).rejects.toThrow(RateLimitedError)
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await waits).map(({ degraded }) => degraded)).toEqual(
      Array(2).fill({ reason: 'error', action: 'fallback' }),
    )
  })

  // It reported a wait of 0 ms, which is longer than maxWait.
  test.each([
    ['deny', 'deny'],
    ['another limiter', 'fallback'],
  ] as const)('reports in its error that the store failed, with onStoreError: %s', async (mode, action) => {
    const store = faultyStore(modelStore(() => START * 1_000))
    store.break('failing')
    const other = rateLimiter({ quota: perDay(1), store: modelStore(() => START * 1_000) })
    await other.consume('api')
    const onStoreError = mode === 'deny' ? mode : other
    const limiter = rateLimiter({ quota: perSecond(1), store, onStoreError, logger: { warn: () => {} } })
    const denied = limiter.wait('api', { maxWait: '5s' })
    await expect(denied).rejects.toThrow(
      'wait rejected: the store of policy "default" did not answer, and onStoreError denied the call.',
    )
    await expect(denied).rejects.toMatchObject({ decision: { degraded: { reason: 'error', action } } })
  })

  test('outlasts the longest timer there is: 30 days of one a month', async () => {
    const { call, turns } = setUp(tokenBucket({ limit: 1, per: '30d' }))
    const calls = [call('a'), call('b')]
    await vi.advanceTimersByTimeAsync(2 ** 31)
    expect([turns, vi.getTimerCount()]).toEqual([['a@0'], 1])
    await vi.advanceTimersByTimeAsync(30 * 86_400_000 - 2 ** 31)
    await Promise.all(calls)
    expect(turns).toEqual(['a@0', 'b@2592000'])
  })

  test('leaves no timer of a wait of months that is given up', async () => {
    const { limiter } = setUp(perDay(1))
    const abort = new AbortController()
    await limiter.charge('api', 90)
    const waiting = limiter.wait('api', { signal: abort.signal })
    await vi.advanceTimersByTimeAsync(2 ** 31 + 1_000)
    expect(vi.getTimerCount()).toBe(1)
    abort.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })

  test('for several quotas ends when the last one lets it', async () => {
    const quotas = { second: perSecond(1), log: slidingLog({ limit: 2, window: '10s' }) }
    const { call, all } = setUp(quotas)
    expect(await all(['a', 'b', 'c'].map((name) => call(name)))).toEqual(['a@0', 'b@1', 'c@10'])
  })

  test('in a full queue is denied at once, with any maxWait', async () => {
    const { call, all } = setUp(leakyBucket({ limit: 1, per: '1s', queue: 1 }))
    const calls = [call('a'), call('b'), call('c'), call('d', { maxWait: '1m' })]
    expect([...(await all(calls))].sort()).toEqual(['a@0', 'b@1', 'c denied@0', 'd denied@0'])
  })

  test('for what may be paid for later, waits for the debt of those before', async () => {
    const { call, all } = setUp(tokenBucket({ limit: 1, per: '1s', burst: 1, overdraft: 8 }))
    const calls = [call('a', { cost: 4 }), call('b', { cost: 2 }), call('c', { maxWait: '4s' }), call('d')]
    expect([...(await all(calls))].sort()).toEqual(['a@0', 'b@3', 'c denied@0', 'd@5'])
  })

  test.each([3_600_000, -3_600_000])(
    'in line for a window waits no longer and no shorter when the wall clock steps by %i ms',
    async (step) => {
      let now = 0
      const store = modelStore(() => (START + now) * 1_000)
      const limiter = rateLimiter({ quota: slidingLog({ limit: 1, window: '1s' }), store })
      await limiter.consume('api')
      const turns: string[] = []
      const call = (name: string, maxWait: '5s' | '3s' | '3200ms'): Promise<void> =>
        limiter.wait('api', { maxWait }).then(
          () => void turns.push(`${name}@${now}`),
          (error: unknown) => void turns.push(`${name} ${error instanceof RateLimitedError ? 'denied' : error}@${now}`),
        )
      const pass = async (ms: number): Promise<void> => {
        now += ms
        await vi.advanceTimersByTimeAsync(ms)
      }
      const calls = [call('ann', '5s'), call('bob', '3s'), call('cid', '3200ms')]
      await pass(500)
      vi.setSystemTime(Date.now() + step)
      for (let i = 0; i < 60; i++) await pass(100)
      await Promise.all(calls)
      expect(turns).toEqual(['ann@1000', 'bob@2000', 'cid@3000'])
    },
  )

  test('in line for a window, one whose maxWait ends there is denied when it does, not later', async () => {
    const { call, all } = setUp(slidingLog({ limit: 1, window: '10s' }))
    const calls = [call('a'), call('b'), call('c', { maxWait: '15s' })]
    expect([...(await all(calls))].sort()).toEqual(['a@0', 'b@10', 'c denied@10'])
  })

  test('knows its options', async () => {
    const { limiter } = setUp(perSecond(1))
    await expect(limiter.wait('api', { timeout: 1 } as never)).rejects.toThrow('no option "timeout"')
    await expect(limiter.wait('api', { maxWait: 'soon' as never })).rejects.toThrow(
      'maxWait must be a positive duration',
    )
    expect(await limiter.peek('api')).toMatchObject({ remaining: 1 })
  })
})

describe('a limiter that can block', () => {
  // Workers stop a request whose client has left, with its timers: all later callers of its key waited behind it for ever.
  test('in line behind one that is lost, one is served when its maxWait ends, and those after it at once', async () => {
    const { call, all } = setUp(slidingLog({ limit: 1, window: '1s' }))
    await call('first')
    void call('lost')
    await vi.advanceTimersByTimeAsync(0)
    vi.clearAllTimers()
    expect(await all([call('next', { maxWait: '3s' })])).toEqual(['first@0', 'next@3'])
    expect(await all([call('later', { maxWait: '3s' })])).toEqual(['first@0', 'next@3', 'later@4'])
  })

  // Its callers waited in line without an end: a queue of 2 held all, and none of them was denied at once.
  test.each<[string, Quota, WaitOptions]>([
    ['a queue', leakyBucket({ limit: 1, per: '1s', queue: 2 }), {}],
    ['a bucket', perSecond(1), { maxWait: '2s' }],
  ])('lets as many wait for %s as one without the option', async (_, quota, options) => {
    const [plain, blocking] = [setUp(quota), setUp(quota, true)]
    const call = (name: string) => [plain.call(name, options), blocking.call(name, options)]
    await plain.all(['a', 'b', 'c', 'd', 'e'].flatMap(call))
    expect(blocking.turns).toEqual(plain.turns)
    expect(blocking.turns.filter((turn) => turn.endsWith('denied@0'))).toHaveLength(2)
  })

  test('lets a blocked key wait until its block ends', async () => {
    const { limiter, call, all } = setUp(perSecond(1), true)
    await limiter.block('api', '3s')
    expect(await all([call('a'), call('b', { maxWait: '2s' })])).toEqual(['b denied@0', 'a@3'])
  })

  // They raced: one that came when the block ended overtook those who had waited for that.
  test('serves callers in their order when the block ends', async () => {
    const { limiter, call, all } = setUp(perSecond(1), true)
    // Its timer is older than those of the others, and is first.
    const newcomer = new Promise<void>((resolve) => setTimeout(() => resolve(call('newcomer')), 3_000))
    await limiter.block('api', '3s')
    const calls = [call('a', { maxWait: '3s' }), call('b'), newcomer]
    await vi.advanceTimersByTimeAsync(1_000)
    calls.push(call('c'))
    expect(await all(calls)).toEqual(['a@3', 'b@4', 'c@5', 'newcomer@6'])
  })
})
