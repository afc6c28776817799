import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { cached } from '../src/index.ts'
import { after, type Plan, quiet, setUp } from './lookups.ts'

const fail = (): never => {
  throw new Error('connection lost')
}

describe('a key that is known', () => {
  test('has its value in the same tick, without a promise', async () => {
    const { db, plan } = setUp()
    expect(plan('bob')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(10)
    expect(plan('bob')).toBe('pro')
    expect(db.lookups).toEqual(['bob'])
  })

  test('is looked up once for a thousand requests at a time', async () => {
    const { db, plan } = setUp()
    const plans = Array.from({ length: 1_000 }, () => plan('bob'))
    expect(new Set(await after(10, Promise.all(plans)))).toEqual(new Set(['pro']))
    expect(db.lookups).toEqual(['bob'])
  })

  test('does not wait for the lookup of another key', async () => {
    const { db, plan } = setUp()
    await after(10, plan('bob'))
    db.latencyMs = 900
    const slow = plan('ann')
    expect(plan('bob')).toBe('pro')
    expect(await after(900, slow)).toBe('free')
  })

  test('keeps its value while it is looked up again', async () => {
    const { db, plan } = setUp({ ttl: '1m' })
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    vi.advanceTimersByTime(60_000)
    expect([plan('ann'), plan('ann'), plan('ann')]).toEqual(['free', 'free', 'free'])
    await vi.advanceTimersByTimeAsync(10)
    expect(plan('ann')).toBe('pro')
    expect(db.lookups).toEqual(['ann', 'ann'])
  })

  test('is waited for once its value is older than staleFor', async () => {
    const { db, plan } = setUp({ ttl: '1m', staleFor: '10m' })
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    vi.advanceTimersByTime(11 * 60_000)
    expect(await after(10, plan('ann'))).toBe('pro')
  })

  test('may have no stale value at all', async () => {
    const { plan } = setUp({ ttl: '1m', staleFor: 0 })
    await after(10, plan('ann'))
    vi.advanceTimersByTime(60_000)
    expect(plan('ann')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(10)
  })
})

describe('a key that is unknown', () => {
  test('is undefined, or the default, and looked up once', async () => {
    const { db, plan } = setUp()
    expect(await after(10, plan('unknown'))).toBe(undefined)
    expect(plan('unknown')).toBe(undefined)
    const other = setUp({ default: 'free' })
    expect(await after(10, other.plan('mallory'))).toBe('free')
    expect(other.plan('mallory')).toBe('free')
    expect([db.lookups, other.db.lookups]).toEqual([['unknown'], ['mallory']])
  })

  test('may become known after ttl', async () => {
    const { db, plan } = setUp({ ttl: '1m', default: 'free' })
    await after(10, plan('carl'))
    db.plans.carl = 'pro'
    vi.advanceTimersByTime(60_001)
    expect(await after(10, plan('carl'))).toBe('pro')
  })

  test.each([undefined, ''])('%j is not looked up', (key) => {
    const { db, plan } = setUp({ default: 'free' })
    expect([plan(key), db.lookups]).toEqual(['free', []])
  })

  test('evicts no known key, however many clients make up', async () => {
    const known = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key ${i}`, 'pro' as const]))
    const { db, plan } = setUp({ max: 100, maxUnknown: 100, default: 'free' }, known)
    await after(10, Promise.all(Object.keys(known).map((key) => plan(key))))
    db.latencyMs = 0
    await after(0, Promise.all(Array.from({ length: 5_000 }, (_, i) => plan(`made up ${i}`))))
    const before = db.lookups.length
    expect(Object.keys(known).map((key) => plan(key))).toEqual(Object.values(known))
    expect(db.lookups.length).toBe(before)
  })

  test('takes little memory, however long it is', async () => {
    const plan = cached(async () => undefined)
    const heapBytes = (): number => {
      setFlagsFromString('--expose-gc')
      runInNewContext('gc')()
      return process.memoryUsage().heapUsed
    }
    const before = heapBytes()
    for (let n = 0; n < 2_000; n++) await plan(Buffer.alloc(15_000, `${n} `).toString('latin1'))
    expect(heapBytes() - before).toBeLessThan(2_000 * 2_000)
    // The cache is still in use.
    expect(plan('bob')).toBeInstanceOf(Promise)
    await vi.advanceTimersByTimeAsync(0)
  })
})

describe('a key that is deleted', () => {
  test('is looked up again', async () => {
    const { db, plan } = setUp()
    await after(10, plan('ann'))
    db.plans.ann = 'pro'
    expect([plan.delete('ann'), plan.delete('ann')]).toEqual([true, false])
    expect(await after(10, plan('ann'))).toBe('pro')
  })

  test('does not keep the result of a lookup that was running', async () => {
    const { db, plan } = setUp()
    db.latencyMs = 100
    const old = plan('ann')
    db.plans.ann = 'pro'
    db.latencyMs = 10
    plan.delete('ann')
    const recent = plan('ann')
    expect(await after(100, Promise.all([old, recent]))).toEqual(['free', 'pro'])
    expect(plan('ann')).toBe('pro')
    expect(db.lookups).toEqual(['ann', 'ann'])
  })

  // The late answer of the deleted lookup gave requests the default for a second.
  test('is looked up also after a lookup that was running has taken too long', async () => {
    const { db, plan } = setUp({ default: 'free', timeout: '200ms' })
    db.latencyMs = 1_000
    const old = plan('bob')
    await vi.advanceTimersByTimeAsync(100)
    plan.delete('bob')
    db.latencyMs = 10
    expect(await after(100, old)).toBe('free')
    expect(await after(10, plan('bob'))).toBe('pro')
    await vi.advanceTimersByTimeAsync(800)
  })

  test('rejects with an Error, though the lookup that was running has thrown text', async () => {
    const plan = cached<Plan>(() => Promise.reject('no connection'), quiet)
    const answer = plan('bob')
    plan.delete('bob')
    await expect(answer).rejects.toThrow('The lookup failed: "no connection".')
  })

  test('is like all keys after clear', async () => {
    const { db, plan } = setUp({ default: 'free' })
    await after(10, Promise.all([plan('ann'), plan('mallory')]))
    plan.clear()
    await after(10, Promise.all([plan('ann'), plan('mallory')]))
    expect(db.lookups).toEqual(['ann', 'mallory', 'ann', 'mallory'])
  })
})

test('null is a missing key', () => {
  expect(setUp({ default: 'free' }).plan(null as never)).toBe('free')
})

// The cache's own times took an entry of the time 0 for one that never expires.
test('a clock may start at 0', async () => {
  let now = 0
  const answers: (() => Plan | undefined)[] = [() => undefined, fail, () => 'pro']
  const plan = cached<Plan>(() => (answers.shift() as () => Plan | undefined)(), {
    ...quiet,
    ttl: '1m',
    clock: () => now,
  })
  expect(await plan('ann')).toBe(undefined)
  await expect(plan('bob')).rejects.toThrow('connection lost')
  now = 60_000
  expect(await plan('bob')).toBe('pro')
  answers.push(() => 'free')
  expect(await plan('ann')).toBe('free')
})
