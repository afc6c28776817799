import { perMinute } from '@spillway/core'
import { degradedQuota } from '@spillway/core/internal'
import { describe, expect, test, vi } from 'vitest'
import { cached } from '../src/index.ts'
import { after, type Plan, quiet, setUp } from './lookups.ts'

describe('a lookup that is slow', () => {
  test('gives the default after the timeout, and its late result is kept', async () => {
    const { db, plan } = setUp({ default: 'free', timeout: '200ms' })
    db.latencyMs = 5_000
    expect(await after(200, plan('bob'))).toBe('free')
    expect(plan('bob')).toBe('free')
    await vi.advanceTimersByTimeAsync(4_800)
    expect(plan('bob')).toBe('pro')
    expect(db.lookups).toEqual(['bob'])
  })

  // A failure that was not forgotten with the late result would put the next lookup off for a second.
  test('and whose late result has expired is followed by another at once', async () => {
    const { db, plan } = setUp({ default: 'free', timeout: '200ms', ttl: '100ms' })
    db.latencyMs = 300
    expect(await after(200, plan('bob'))).toBe('free')
    db.latencyMs = 10
    await vi.advanceTimersByTimeAsync(200)
    expect([plan('bob'), db.lookups]).toEqual(['pro', ['bob', 'bob']])
    await vi.advanceTimersByTimeAsync(10)
  })

  test('is reported after the timeout, also while the last known value is used', async () => {
    const warnings: string[] = []
    const { db, plan } = setUp({ ttl: '1m', timeout: '200ms', logger: { warn: (text) => warnings.push(text) } })
    const quotas = { free: perMinute(60), pro: perMinute(600) }
    await after(10, plan('bob'))
    await vi.advanceTimersByTimeAsync(60_000)
    db.latencyMs = 5_000
    expect([plan.quota('bob', quotas), warnings]).toEqual([quotas.pro, []])
    await vi.advanceTimersByTimeAsync(200)
    for (let second = 0; second < 4; second++) {
      expect(plan.quota('bob', quotas)).toBe(degradedQuota(quotas.pro, 'stale'))
      await vi.advanceTimersByTimeAsync(1_001)
    }
    expect(warnings).toEqual([expect.stringContaining('a cached lookup failed: The lookup took longer than 200 ms')])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([plan.quota('bob', quotas), db.lookups]).toEqual([quotas.pro, ['bob', 'bob']])
  })

  test("rejects after the timeout with onError: 'throw', whatever is known", async () => {
    const { db, plan } = setUp({ ttl: '1m', timeout: '200ms', onError: 'throw' })
    await after(10, plan('bob'))
    await vi.advanceTimersByTimeAsync(60_000)
    db.latencyMs = 5_000
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(200)
    expect(() => plan('bob')).toThrow('The lookup took longer than 200 ms')
    await vi.advanceTimersByTimeAsync(4_800)
  })

  test('rejects after the timeout if there is no default', async () => {
    const { db, plan } = setUp({ timeout: '200ms' })
    db.latencyMs = 5_000
    await expect(after(200, plan('bob'))).rejects.toMatchObject({ reason: 'timeout' })
    await vi.advanceTimersByTimeAsync(4_800)
  })

  test('does not run more than ten thousand times at once', async () => {
    const pending: (() => void)[] = []
    const lookup = (): Promise<Plan> => new Promise((resolve) => pending.push(() => resolve('pro')))
    const plan = cached<Plan, Plan>(lookup, { ...quiet, default: 'free', timeout: '1s' })
    const plans = Array.from({ length: 10_500 }, (_, i) => plan(`key ${i}`))
    expect(pending).toHaveLength(10_000)
    expect(await plans[10_400]).toBe('free')
    for (const answer of pending) answer()
    expect(await plans[9_999]).toBe('pro')
  })

  test('leaves the last known value, if ten thousand others are running', async () => {
    const answers = new Map<string, () => void>()
    const lookup = (key: string): Promise<Plan> => new Promise((resolve) => answers.set(key, () => resolve('pro')))
    const plan = cached<Plan, Plan>(lookup, { ...quiet, ttl: '1s', default: 'free' })
    const first = plan('bob')
    answers.get('bob')?.()
    await first
    await vi.advanceTimersByTimeAsync(1_000)
    const plans = Array.from({ length: 10_000 }, (_, i) => plan(`key ${i}`))
    // A rejection that is not handled would end the process, and fails the run of the tests.
    const quotas = { free: perMinute(60), pro: perMinute(600) }
    expect(plan.quota('bob', quotas)).toBe(degradedQuota(quotas.pro, 'stale'))
    for (const answer of answers.values()) answer()
    await Promise.all(plans)
  })

  test('is in time if its answer arrived while the event loop stood still', async () => {
    vi.useRealTimers()
    const plan = cached<Plan, Plan>(() => new Promise((resolve) => setTimeout(() => resolve('pro'), 10)), {
      ...quiet,
      default: 'free',
      timeout: 20,
    })
    const answer = plan('bob')
    // Real time: what is tested is the order of timers after a stall, which fake timers do not have.
    const until = performance.now() + 60
    while (performance.now() < until);
    expect(await answer).toBe('pro')
    vi.useFakeTimers()
  })
})

test('a lookup that never ends is repeated after half a minute', async () => {
  const keys: string[] = []
  const lost = (key: string) => (keys.push(key) === 1 ? new Promise<Plan>(() => {}) : ('pro' as const))
  const plan = cached<Plan, Plan>(lost, { ...quiet, default: 'free' })
  expect(await after(1_000, plan('ann'))).toBe('free')
  await vi.advanceTimersByTimeAsync(28_000)
  expect(await after(1_000, plan('ann'))).toBe('free')
  expect(keys).toEqual(['ann'])
  await vi.advanceTimersByTimeAsync(1_001)
  expect(await after(1_000, plan('ann'))).toBe('pro')
  expect(keys).toEqual(['ann', 'ann'])
})
