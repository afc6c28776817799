import { describe, expect, test, vi } from 'vitest'
import { cached } from '../src/index.ts'
import { after, type Plan, setUp } from './lookups.ts'

describe('a lookup that fails', () => {
  test('leaves the last known value, and is tried again after a second', async () => {
    const { db, plan } = setUp({ ttl: '1m', staleFor: '10m' })
    await after(10, plan('bob'))
    db.down = true
    vi.advanceTimersByTime(60_000)
    for (let second = 0; second < 5; second++) {
      for (let i = 0; i < 100; i++) expect(await after(1, plan('bob'))).toBe('pro')
      await vi.advanceTimersByTimeAsync(1_000)
    }
    expect(db.lookups).toHaveLength(6)
    db.down = false
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(10)
    const { length } = db.lookups
    expect([plan('bob'), db.lookups.length]).toEqual(['pro', length])
  })

  test('gives the default if no value is known', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    expect(await after(10, plan('bob'))).toBe('free')
    // No request waits for a database that has just failed.
    expect(plan('bob')).toBe('free')
    db.down = false
    vi.advanceTimersByTime(1_001)
    expect(await after(10, plan('bob'))).toBe('pro')
  })

  test('is not remembered for a key that is deleted', async () => {
    const { db, plan } = setUp({ default: 'free' })
    db.down = true
    expect(await after(10, plan('bob'))).toBe('free')
    db.down = false
    plan.delete('bob')
    expect(await after(10, plan('bob'))).toBe('pro')
  })

  test('rejects with its own error if there is neither', async () => {
    const { db, plan } = setUp()
    db.down = true
    await expect(after(10, plan('bob'))).rejects.toThrow('connection lost')
    expect(() => plan('bob')).toThrow('connection lost')
  })

  test("rejects with onError: 'throw', whatever is known", async () => {
    const { db, plan } = setUp({ ttl: '1m', default: 'free', onError: 'throw' })
    await after(10, plan('bob'))
    db.down = true
    vi.advanceTimersByTime(60_000)
    expect(plan('bob')).toBe('pro')
    await vi.advanceTimersByTimeAsync(10)
    expect(() => plan('bob')).toThrow('connection lost')
  })

  test.each<[string, () => never]>([
    [
      'throws at once',
      () => {
        throw new TypeError('no connection')
      },
    ],
    [
      'throws text',
      () => {
        throw 'no connection' as unknown as Error
      },
    ],
  ])('or %s is one that fails', async (_, lookup) => {
    const warnings: string[] = []
    const plan = cached<Plan, Plan>(lookup, { default: 'free', logger: { warn: (text) => warnings.push(text) } })
    expect(await plan('bob')).toBe('free')
    expect(warnings).toEqual([
      expect.stringMatching(/a cached lookup failed: .*no connection.*#warn_spillway_lookup\]$/),
    ])
  })

  test('is logged once', async () => {
    const warnings: string[] = []
    const { db, plan } = setUp({ default: 'free', logger: { warn: (text) => warnings.push(text) } })
    db.down = true
    for (const key of ['a', 'b', 'c']) await after(10, plan(key))
    expect(warnings).toHaveLength(1)
  })
})
