import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkJitter, jitteredMs } from '../src/features/header-forms/jitter.ts'
import { seconds } from '../src/http/headers/answer-headers.ts'
import { QuotaError } from '../src/index.ts'
import { decisionOf } from './decisions.ts'

const secondsFor = (retryAfterMs: number, key: string, jitter: number): number =>
  seconds(jitteredMs(decisionOf({ allowed: false, retryAfterMs }), key, jitter))

const users = Array.from({ length: 10_000 }, (_, i) => `user-${i}`)

test.each([
  [0, 0],
  [0.001, 1],
  [1_000, 1],
  [1_000.001, 2],
  [59_999, 60],
])('without jitter, a wait of %d ms is %d seconds', (wait, seconds) => expect(secondsFor(wait, 'ann', 0)).toBe(seconds))

test('with jitter, a wait is never shorter than the exact one, nor longer by more than its share', () => {
  const jitters = fc.double({ min: 0, max: 0.5, noNaN: true })
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.string(), jitters, (wait, key, jitter) => {
      const whole = Math.ceil(wait / 1000)
      const seconds = secondsFor(wait, key, jitter)
      expect(Number.isInteger(seconds)).toBe(true)
      expect(seconds).toBeGreaterThanOrEqual(whole)
      expect(seconds).toBeLessThanOrEqual(whole * (1 + jitter))
      expect(secondsFor(wait, key, jitter)).toBe(seconds)
    }),
  )
})

test.each([
  ['numbered keys', users],
  ['keys that differ at their start', users.map((user) => user.split('').reverse().join(''))],
  ['IPv4 addresses', users.map((_, i) => `10.0.${i >> 8}.${i & 255}`)],
])('%s are spread evenly over all waits that jitter allows', (_, keys) => {
  const counts = new Map<number, number>()
  for (const key of keys) {
    const seconds = secondsFor(38_000, key, 0.5)
    counts.set(seconds, (counts.get(seconds) ?? 0) + 1)
  }
  // 38 to 57 seconds: 20 waits with some 500 keys each, give or take six standard deviations.
  expect(counts.size).toBe(20)
  for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(132)
})

test('a wait of a second has no share that is whole seconds, and nothing is added to forever', () => {
  for (const key of users.slice(0, 100)) {
    expect([secondsFor(1_000, key, 0.5), secondsFor(Infinity, key, 0.5)]).toEqual([1, Infinity])
  }
})

test.each([
  [undefined, 0],
  [0, 0],
  [0.25, 0.25],
  [0.5, 0.5],
])('jitter %s is %d', (jitter, share) => expect(checkJitter(jitter)).toBe(share))

test.each([-0.1, 0.51, 50, Number.NaN, Infinity, '0.5', true, null])('jitter %s is rejected', (jitter) => {
  expect(() => checkJitter(jitter)).toThrow(QuotaError)
  expect(() => checkJitter(jitter)).toThrow('Write 0.5 for 50 %')
})
