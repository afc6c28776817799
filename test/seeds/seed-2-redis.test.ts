import { tokenBucket } from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { onAMachine, ours, polled } from './ours.ts'
import { LuaBucket } from './published/redis.ts'

// The algorithm of the published Lua script, polled faster than a server could be. The script itself runs on Redis in
// redis-lua.test.ts.

const tenInTenSeconds = tokenBucket({ limit: 10, per: '10s' })

describe('the token bucket in Lua', () => {
  test('C1: twelve calls at one moment are ten, as here; the atom beside it in the text admits nine', () => {
    const theirs = new LuaBucket(10, 10_000)
    expect(Array.from({ length: 12 }, () => theirs.throttle(0)).filter((throttled) => !throttled)).toHaveLength(10)
    const { passes } = ours(tenInTenSeconds)
    expect(Array.from({ length: 12 }, () => passes(0)).filter(Boolean)).toHaveLength(10)
  })

  test('C2: rounded up, half a token is one: asked twice as often as it allows, it admits 121 of 121; here 70', () => {
    const theirs = new LuaBucket(10, 10_000)
    expect(polled(500, 60_000, (at) => !theirs.throttle(at))).toBe(121)
    const { passes } = ours(tenInTenSeconds)
    expect(polled(500, 60_000, passes)).toBe(70)
  })

  test('C2: rounded down, 0.499 of a token is none: asked every 499 ms for 20 s, it admits too few; here 29', () => {
    const theirs = new LuaBucket(10, 10_000)
    const { passes } = ours(tenInTenSeconds)
    const [published, exact] = [polled(499, 20_000, (at) => !theirs.throttle(at)), polled(499, 20_000, passes)]
    expect(published).toBeLessThan(26)
    expect(exact).toBe(29)
  })

  test('C3: a caller five seconds behind takes six tokens at once and sets the clock back; here no caller sends a time', () => {
    const theirs = new LuaBucket(10, 10_000)
    theirs.throttle(10_000)
    theirs.throttle(5_000)
    expect([theirs.redis.get('tokens'), theirs.redis.get('ts')]).toEqual([3, 5_000])
    const { limiter, set } = onAMachine(tenInTenSeconds)
    limiter.consumeSync('alice')
    expect(set(-5_000).consumeSync('alice').remaining).toBe(8)
  })

  test('C5, C6: two keys that never expire, one of which is lost: every call fails; here one state, and a lost one is full', async () => {
    const theirs = new LuaBucket(10, 10_000)
    theirs.throttle(0)
    theirs.redis.delete('tokens')
    expect(() => theirs.throttle(1)).toThrow('a nil value')
    const { at, limiter } = ours(tenInTenSeconds)
    at(0).consumeSync('alice', 10)
    await limiter.reset('alice')
    expect(at(1).consumeSync('alice').remaining).toBe(9)
  })
})
