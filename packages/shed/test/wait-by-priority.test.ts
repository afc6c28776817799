import { modelStore } from '@spillway/conformance'
import { fixedWindow, type Quota, RateLimitedError, rateLimiter, tokenBucket } from '@spillway/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type PriorityWaitOptions, waitByPriority } from '../src/index.ts'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  // Whatever has been waited for, nothing is left behind.
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const START = Date.UTC(2026, 0, 1)
const [critical, sheddable] = [{ priority: 'critical' }, { priority: 'sheddable' }] as const

/** Callers under one quota, each noted down when it is its turn, with the second of its turn. */
function setUp(quota: Quota) {
  const limiter = rateLimiter({ quota, store: modelStore(() => (START + Date.now()) * 1_000) })
  const turns: string[] = []
  const call = async (name: string, options: PriorityWaitOptions = {}): Promise<void> => {
    try {
      await waitByPriority(limiter, 'api', options)
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
  return { limiter, turns, call, all }
}

const quotas = {
  'a bucket': tokenBucket({ limit: 1, per: '1s' }),
  'a window': fixedWindow({ limit: 1, window: '1s' }),
}

describe.each(Object.entries(quotas))('under %s', (_, quota) => {
  test("a user's call does not run after all background calls", async () => {
    const { call, all } = setUp(quota)
    const calls = ['a', 'b', 'c', 'd'].map((name) => call(name, sheddable))
    await vi.advanceTimersByTimeAsync(500)
    calls.push(call('user', critical), call('other'))
    expect(await all(calls)).toEqual(['a@0', 'user@1', 'other@2', 'b@3', 'c@4', 'd@5'])
  })

  test('calls of one priority are served in their order, and none is lost in a flood', async () => {
    const { call, all, limiter } = setUp(quota)
    const calls = Array.from({ length: 300 }, (_, i) => call(`${i}`, sheddable))
    await vi.advanceTimersByTimeAsync(100)
    calls.push(call('user', critical))
    const turns = await all(calls)
    expect(turns.slice(0, 3)).toEqual(['0@0', 'user@1', '1@2'])
    expect(turns).toEqual(['0@0', 'user@1', ...Array.from({ length: 299 }, (_, i) => `${i + 1}@${i + 2}`)])
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await limiter.peek('api')).remaining).toBe(1)
  })

  test('a call that leaves, or whose time is over, gives its turn to the next', async () => {
    const { call, all } = setUp(quota)
    const controller = new AbortController()
    const calls = [call('a'), call('leaves', { ...critical, signal: controller.signal })]
    calls.push(call('late', { maxWait: '1500ms' }), call('b'), call('c', critical))
    await vi.advanceTimersByTimeAsync(500)
    controller.abort('left')
    expect(await all(calls)).toEqual(['a@0', 'leaves left@0.5', 'c@1', 'late denied@1.5', 'b@2'])
  })

  test('a wait that cannot be long enough is denied at once', async () => {
    const { call, all } = setUp(quota)
    expect(await all([call('a'), call('b', { maxWait: '900ms' }), call('c', { maxWait: 0 })])).toEqual([
      'a@0',
      'b denied@0',
      'c denied@0',
    ])
  })
})

test('a call of another cost overtakes a wait for many units, which loses none', async () => {
  const { call, all, limiter } = setUp(tokenBucket({ limit: 5, per: '5s' }))
  const calls = [call('first', { cost: 5 }), call('many', { ...sheddable, cost: 5 })]
  await vi.advanceTimersByTimeAsync(500)
  calls.push(call('user', critical))
  expect(await all(calls)).toEqual(['first@0', 'user@1', 'many@6'])
  await vi.advanceTimersByTimeAsync(5_000)
  expect((await limiter.peek('api')).remaining).toBe(5)
})

test('a cost above the quota is denied, and others go on', async () => {
  const { call, all } = setUp(quotas['a bucket'])
  const calls = [call('a'), call('b'), call('never', { ...critical, cost: 2 })]
  expect(await all(calls)).toEqual(['a@0', 'never denied@0', 'b@1'])
})

test('random calls of all priorities, of which some leave, never exceed the quota and lose no unit', async () => {
  const { limiter } = setUp(tokenBucket({ limit: 3, per: '3s' }))
  let seed = 7
  const random = (below: number): number => {
    seed = (Math.imul(seed, 48_271) >>> 0) % 2_147_483_647
    return seed % below
  }
  let served = 0
  const calls: Promise<void>[] = []
  for (let i = 0; i < 200; i++) {
    const priority = (['critical', 'default', 'sheddable'] as const)[random(3)] as 'default'
    const controller = new AbortController()
    const [cost, leavesIn] = [1 + random(3), random(4) === 0 ? random(20_000) : undefined]
    const wait = waitByPriority(limiter, 'api', { priority, cost, signal: controller.signal })
    const note = (): void => {
      served += cost
    }
    calls.push(wait.then(note).catch(() => {}))
    const timer = leavesIn === undefined ? undefined : setTimeout(() => controller.abort(), leavesIn)
    void wait.catch(() => {}).finally(() => clearTimeout(timer))
    await vi.advanceTimersByTimeAsync(random(700))
    expect(served).toBeLessThanOrEqual(3 + Date.now() / 1_000)
  }
  await vi.runAllTimersAsync()
  await Promise.all(calls)
  expect(served).toBeLessThanOrEqual(3 + Date.now() / 1_000)
  // While calls wait, no unit is left unused for longer than another call of its size takes.
  expect(served).toBeGreaterThan(Date.now() / 1_000 - 6)
  await vi.advanceTimersByTimeAsync(3_000)
  expect((await limiter.peek('api')).remaining).toBe(3)
})

test('says what is no priority, no limiter and no option', async () => {
  const { limiter } = setUp(quotas['a bucket'])
  const wait = (options: unknown, on: unknown = limiter) => waitByPriority(on as never, 'api', options as never)
  await expect(wait({ priority: 'high' })).rejects.toThrow(
    /priority must be 'critical', 'default' or 'sheddable'; got "high"/,
  )
  await expect(wait({ prio: 'critical' })).rejects.toThrow(/priority/)
  await expect(wait({ signal: 5 })).rejects.toThrow(/signal must be an AbortSignal/)
  await expect(wait({}, { consume: () => {} })).rejects.toThrow(/waitByPriority needs a limiter/)
})
