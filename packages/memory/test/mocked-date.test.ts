import { afterEach, expect, test, vi } from 'vitest'
import { perMinute, rateLimiter } from '../src/index.ts'

afterEach(() => {
  vi.useRealTimers()
})

const slow = () => rateLimiter({ quota: perMinute(1) })
const allows = (limiter: ReturnType<typeof slow>): boolean => limiter.consumeSync('ann').allowed

test.each([
  ['all timers', undefined],
  ['the date alone', ['Date']],
] as const)('a limiter follows a date that was mocked before it was made: %s', (_, toFake) => {
  vi.useFakeTimers({ now: new Date('2020-01-01'), ...(toFake && { toFake: [...toFake] }) })
  const limiter = slow()
  expect([allows(limiter), limiter.consumeSync('ann').retryAfterMs]).toEqual([true, 60_000])
  vi.advanceTimersByTime(59_999)
  expect(allows(limiter)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(allows(limiter)).toBe(true)
  // The present is years later.
  vi.useRealTimers()
  expect(allows(limiter)).toBe(true)
})

// The guide for tests says so.
test.each([
  ['all timers', undefined, true],
  ['the date alone', ['Date'], false],
] as const)('after a step back, it follows the stopwatch: %s', (_, toFake, refills) => {
  vi.useFakeTimers({ now: new Date('2020-01-01'), ...(toFake && { toFake: [...toFake] }) })
  const limiter = slow()
  allows(limiter)
  vi.setSystemTime(new Date('2019-01-01'))
  vi.advanceTimersByTime(60_000)
  expect([allows(limiter), allows(slowAlike())]).toEqual([refills, true])
})

const slowAlike = () => rateLimiter({ name: 'made later', quota: perMinute(1) })
