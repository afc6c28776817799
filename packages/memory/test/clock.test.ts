import { perSecond } from '@spillway/core'
import { expect, test, vi } from 'vitest'
import { steadyClock } from '../src/clock.ts'
import { memoryStore, rateLimiter } from '../src/index.ts'

/** A machine whose wall clock can step, and whose stopwatch cannot. */
function machine() {
  const time = { wall: 1_000_000, run: 0, stopwatchReads: 0 }
  const clock = steadyClock({
    wall: () => time.wall,
    stopwatch: () => {
      time.stopwatchReads++
      return time.run
    },
  })
  return {
    time,
    millis: () => clock() / 1000,
    pass: (millis: number) => {
      time.wall += millis
      time.run += millis
    },
    set: (millis: number) => {
      time.wall += millis
    },
  }
}

test('follows the wall clock', () => {
  const { millis, pass } = machine()
  const reported = [0, 1, 500, 10_000, 3_600_000].map((span) => {
    pass(span)
    return millis()
  })
  expect(reported).toEqual([1_000_000, 1_000_001, 1_000_501, 1_010_501, 4_610_501])
})

test('continues from its last value when the wall clock steps back, and forward again', () => {
  const { millis, pass, set } = machine()
  pass(5)
  expect(millis()).toBe(1_000_005)
  set(-60_000)
  expect(millis()).toBe(1_000_005)
  pass(10_000)
  expect(millis()).toBe(1_010_005)
  set(60_000)
  expect(millis()).toBe(1_010_005)
  pass(10_000)
  expect(millis()).toBe(1_020_005)
})

test('gains nothing from any number of small steps back and forth', () => {
  const { millis, pass, set } = machine()
  const start = millis()
  for (let i = 0; i < 100; i++) {
    set(-900)
    millis()
    pass(100)
    set(900)
    millis()
    pass(2_000)
    millis()
  }
  // 210 seconds have passed; after a step of less than a second the clock may be ahead for a while.
  expect(millis() - start).toBeGreaterThanOrEqual(210_000)
  expect(millis() - start).toBeLessThan(211_000)
})

test('never runs backwards', () => {
  const { millis, pass, set } = machine()
  let last = millis()
  for (const span of [3, -1, 0, 2_000, -2_500, -3_600_000, 1, 7_200_000, -4, 900, -900, 900]) {
    pass(1)
    set(span)
    const now = millis()
    expect(now).toBeGreaterThanOrEqual(last)
    last = now
  }
})

test('counts the time that a machine slept, whose stopwatch was paused', () => {
  const { millis, set } = machine()
  set(3_600_000)
  expect(millis()).toBe(4_600_000)
})

test('reads the stopwatch once a second, not on every call', () => {
  const { time, millis, pass } = machine()
  for (let i = 0; i < 1_000; i++) {
    pass(1)
    millis()
  }
  expect(time.stopwatchReads).toBe(2)
})

// Reproduces F2 and K3 of the seeds' bugs with the machine's own wall clock.
test('a wall clock that steps back and forth over-admits nothing, and one that stays behind blocks no client', () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const noon = Date.now()
  const limiter = rateLimiter({ quota: perSecond(10, { burst: 100 }), store: memoryStore() })
  limiter.consumeSync('a', 100)
  for (const step of [-60_000, 0, -3_600_000]) {
    vi.setSystemTime(noon + step)
    expect(limiter.consumeSync('a', 10)).toMatchObject({ allowed: false })
  }
  vi.advanceTimersByTime(100)
  expect(limiter.consumeSync('a', 1).allowed).toBe(true)
  vi.useRealTimers()
})
