import { fixedWindow, perMinute, perSecond, slidingLog, tokenBucket } from '@spillway/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crowd, onAMachine, ours, polled } from './ours.ts'
import { CounterAtom, RequestQueue, TokenAtom } from './published/clojure.ts'

const minute = 60_000
const tenSeconds = { limit: 10, window: '10s' } as const

describe('counting in fixed windows, the first listing', () => {
  test('the comment under it: ten pass, the eleventh is throttled, and a minute later one passes', () => {
    const theirs = new CounterAtom(10)
    expect(crowd(11, () => !theirs.throttle(0))).toBe(10)
    expect(theirs.throttle(minute)).toBe(false)
    const { passes } = ours(fixedWindow({ limit: 10, window: '1m' }))
    expect(crowd(11, () => passes(0))).toBe(10)
    expect(passes(minute)).toBe(true)
  })

  test('ten at :59 and ten a second later pass both, as the text says; a log or a bucket of ten knows better', () => {
    const theirs = new CounterAtom(10)
    const moments = [59_000, 60_000]
    expect(moments.map((ms) => crowd(10, () => !theirs.throttle(ms)))).toEqual([10, 10])
    const quotas = [
      fixedWindow({ limit: 10, window: '1m' }),
      slidingLog({ limit: 10, window: '1m' }),
      perMinute(10),
    ].map(ours)
    expect(quotas.map(({ passes }) => moments.map((ms) => crowd(10, () => passes(ms))))).toEqual([
      [10, 10],
      [10, 0],
      [10, 0],
    ])
  })

  test('C8: one late hit of minute 4 wipes the count of minute 5: 21 pass there, ten here', () => {
    const theirs = new CounterAtom(10)
    const hits = (at: number, calls: number): number => crowd(calls, () => !theirs.throttle(at * minute))
    expect([hits(5, 10), hits(4, 1), hits(5, 10)]).toEqual([10, 1, 10])
    // Here requests have no time of their own: the store's clock is used, and is monotonic.
    const { limiter, pass, set } = onAMachine(fixedWindow({ limit: 10, window: '1m' }))
    const passed = (calls: number): number => crowd(calls, () => limiter.consumeSync('alice').allowed)
    pass(5 * minute)
    expect(passed(10)).toBe(10)
    set(4 * minute)
    expect(passed(1)).toBe(0)
    set(5 * minute)
    expect(passed(10)).toBe(0)
  })
})

describe('a queue of timestamps, the second listing', () => {
  test('the comment under it: ten pass, the eleventh is throttled, and ten seconds later one passes', () => {
    const { passes } = ours(slidingLog(tenSeconds))
    expect(crowd(11, () => passes(0))).toBe(10)
    expect([passes(9_999), passes(10_000)]).toEqual([false, true])
  })

  test('is right, and ours answers as it does, whatever the history', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 4_000 }), { minLength: 1, maxLength: 80 })
    fc.assert(
      fc.property(pauses, fc.integer({ min: 1, max: 12 }), (history, limit) => {
        const theirs = new RequestQueue(limit, 10_000)
        const { passes } = ours(slidingLog({ limit, window: '10s' }))
        let now = 0
        for (const pause of history) {
          now += pause
          expect(passes(now)).toBe(!theirs.throttle(now))
        }
      }),
    )
  })

  test('holds one entry a request there, one a moment here, and tells here when to come again', () => {
    const theirs = new RequestQueue(10, 10_000)
    crowd(10, () => theirs.throttle(0))
    expect(theirs.queue).toHaveLength(10)
    const { at } = ours(slidingLog(tenSeconds))
    expect(at(0).consumeSync('alice', 7)).toMatchObject({ allowed: true, remaining: 3 })
    expect(at(4_000).consumeSync('alice', 5)).toMatchObject({ allowed: false, remaining: 3, retryAfterMs: 6_000 })
    expect(at(4_000).consumeSync('alice', 3)).toMatchObject({ allowed: true, remaining: 0 })
    expect(at(4_000).consumeSync('alice', 8)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
  })
})

describe('the token bucket in an atom, the third listing', () => {
  const atom = (maxHits: number, intervalMs: number): ((ms: number) => boolean) => {
    const bucket = new TokenAtom(maxHits, intervalMs, 0)
    return (ms) => !bucket.throttle(ms)
  }

  test('C1: of twelve calls at one instant nine pass there, ten here', () => {
    const theirs = atom(10, 10_000)
    expect(crowd(12, () => theirs(0))).toBe(9)
    const { passes } = ours(tokenBucket({ limit: 10, per: '10s' }))
    expect(crowd(12, () => passes(0))).toBe(10)
  })

  test('C1: one a second, called once a second: every second call passes there, every one here', () => {
    expect(polled(1_000, 10_000, atom(1, 1_000), 1_000)).toBe(5)
    expect(polled(1_000, 10_000, ours(perSecond(1)).passes, 1_000)).toBe(10)
  })

  test('"60 a minute: after 30 seconds we have 30 new tokens"', async () => {
    const { at, passes } = ours(perMinute(60))
    passes(0, 60)
    expect((await at(30_000).peek('alice')).remaining).toBe(30)
    expect(crowd(60, () => passes(30_000))).toBe(30)
  })

  test('C9: a day in 24 bits: one a day is due after 24 hours; theirs is late by 5 ms, ours to the microsecond', () => {
    const day = 86_400_000
    const theirs = new TokenAtom(1, day, 0)
    theirs.tokensCount = 0
    // C1 asks for more than one token; what has passed is rounded to multiples of 8 ms.
    expect([day, day + 1, day + 4, day + 5].map((ms) => theirs.throttle(ms))).toEqual([true, true, true, false])
    const { passes } = ours(tokenBucket({ limit: 1, per: '1d' }))
    expect([passes(0), passes(day - 0.001), passes(day)]).toEqual([true, false, true])
  })

  test('the comment under it: ten calls, then one more; ten seconds later one passes', () => {
    const { passes } = ours(tokenBucket({ limit: 10, per: '10s' }))
    expect(crowd(10, () => passes(0))).toBe(10)
    expect([passes(0), passes(10_000)]).toEqual([false, true])
  })
})
