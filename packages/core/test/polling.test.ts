import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  perDay,
  perHour,
  perSecond,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { asked, crowd, hour, second } from './asked.ts'

/** How many pass that are asked for one by one, every `pause`, from the start through `span`. */
function polled(quota: Quota, pause: number, span: number): number {
  const { take } = asked(quota)
  let admitted = 0
  for (let at = 0; at <= span; at += pause) if (take(at).allowed) admitted++
  return admitted
}

/** Each algorithm at so many in a window of milliseconds. */
const algorithms = (limit: number, window: number): readonly (readonly [string, Quota])[] => [
  ['token bucket', tokenBucket({ limit, per: window })],
  ['pacing', tokenBucket({ limit, per: window, burst: 1 })],
  ['overdraft', tokenBucket({ limit, per: window, overdraft: 3 })],
  ['interval refill', tokenBucket({ limit, per: window, refill: window })],
  ['fixed window', fixedWindow({ limit, window })],
  ['fixed window from the first request', fixedWindow({ limit, window, align: 'first' })],
  ['leaky bucket', leakyBucket({ limit, per: window, queue: 2 })],
  ['sliding window', slidingWindow({ limit, window })],
  ['sliding log', slidingLog({ limit, window })],
]

describe('polling does not starve', () => {
  // F1: a denial that rounds what has come in since the last one starves the caller that asks often.
  test.each([
    [tokenBucket({ limit: 1, per: '1h' }), 3],
    [tokenBucket({ limit: 1, per: '1h', refill: '1h' }), 3],
    [fixedWindow({ limit: 1, window: '1h' }), 3],
    [leakyBucket({ limit: 1, per: '1h', queue: 0 }), 3],
    [slidingLog({ limit: 1, window: '1h' }), 3],
    // Its last unit fades out just after the window has ended, not with it.
    [slidingWindow({ limit: 1, window: '1h' }), 2],
  ])('one an hour, every second of two hours: %j', (quota, admitted) => {
    expect(polled(quota, second, 2 * hour)).toBe(admitted)
    expect(polled(quota, second, 2 * hour + second)).toBe(3)
  })

  test.each(algorithms(5, 1_000))('%s: a thousand windows are used to 999 in 1,000', (_, quota) => {
    const admitted = polled(quota, 10_000, 1_000 * second)
    expect(admitted).toBeGreaterThanOrEqual(5_000 - 1)
    expect(admitted).toBeLessThanOrEqual(5_000 + 8)
  })

  test.each(algorithms(4, 1_000))('%s: asked every so often, whatever that is, loses that much a unit', (name) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 20_000, max: 3 * second }), (limit, pause) => {
        const [, quota] = algorithms(limit, 1_000).find(([each]) => each === name) as readonly [string, Quota]
        const span = 20 * second
        expect(polled(quota, pause, span)).toBeGreaterThanOrEqual(Math.floor(span / (second / limit + pause)) - 1)
      }),
    )
  })

  // What a sliding window holds honestly: exactly at its rate, half a unit a window is lost at the boundary.
  test.each([
    [1, 5],
    [2, 15],
    [10, 95],
  ])(
    'sliding window of %d: asked exactly at its rate for ten windows, %d pass; a little faster, all',
    (limit, passes) => {
      const quota = slidingWindow({ limit, window: '1s' })
      const unit = second / limit
      expect(polled(quota, unit, 10 * second - 1)).toBe(passes)
      expect(polled(quota, unit - 1_000, 10 * second - 1)).toBe(10 * limit)
    },
  )
})

describe('extreme quotas', () => {
  test('one in seven days keeps its hour for ten years, to the microsecond', () => {
    const week = 7 * 24 * hour
    for (const [, quota] of algorithms(1, week / 1_000).filter(([name]) => !/overdraft|leaky|window/.test(name))) {
      const { take } = asked(quota)
      expect(take(0).allowed).toBe(true)
      // The grid of intervals begins on a Thursday, as 1970 did; so does 2026.
      for (let i = 1; i <= 520; i++) {
        expect(take(i * week - 1)).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
        expect(take(i * week).allowed).toBe(true)
      }
    }
  })

  test('a million a second is a hundred thousand in a tenth, and the next one a microsecond later', () => {
    const subject = asked(perSecond(1_000_000, { burst: 1 }))
    let admitted = 0
    for (let at = 0; at < 0.1 * second; at++) if (subject.take(at).allowed) admitted++
    expect(admitted).toBe(100_000)
    expect(subject.take(0.1 * second - 1)).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
    const whole = asked(perSecond(1_000_000))
    expect(whole.take(0, 1_000_000).remaining).toBe(0)
    expect(whole.take(1)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test.each([
    ['one a day, 3,000 at once', perDay(1, { burst: 3_000 })],
    ['one in seven days', tokenBucket({ limit: 1, per: '7d' })],
    ['one a microsecond, at intervals', tokenBucket({ limit: 1, per: 0.001, refill: 0.001, burst: 900 })],
    ['a sliding window of seven days', slidingWindow({ limit: 700, window: '7d' })],
    ['a sliding log of seven days', slidingLog({ limit: 700, window: '7d' })],
    ['an hour', perHour(600)],
  ])('ten idle years leave %s full, and no more than full', (_, quota) => {
    const subject = asked(quota)
    expect(subject.take(0, quota.limit)).toMatchObject({ allowed: true, remaining: 0 })
    expect(subject.take(10 * 8_766 * hour, quota.limit)).toMatchObject({ allowed: true, remaining: 0 })
    expect(crowd(subject, 10 * 8_766 * hour)).toBe(0)
  })
})
