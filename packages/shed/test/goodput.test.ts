import { describe, expect, test } from 'vitest'
import { offer, rate, SERVICES, SLOWING } from './grid.ts'

// Goodput in simulated time: services with a bottleneck of 1,000 calls a second, and calls at random times. A seed is a row.

const SEEDS = [1, 2]

describe.each(Object.entries(SERVICES))('%s', (_, make) => {
  test.each(SEEDS)('drops nothing at 0.5 and 0.8 times what it can take: seed %i', (seed) => {
    expect(offer(make, 0.5, seed).dropped).toBe(0)
    expect(offer(make, 0.8, seed).dropped).toBe(0)
  })

  test.each(SEEDS)(
    'serves as much at 1.5, 2 and 5 times as at 1, and as fast as three times an idle one: seed %i',
    (seed) => {
      const usual = rate(offer(make, 1, seed), 5)
      const { p99 } = offer(make, 0.5, seed)
      for (const load of [1.5, 2, 5]) {
        const outcome = offer(make, load, seed)
        expect(rate(outcome, 5)).toBeGreaterThan(0.95 * usual)
        expect(rate(outcome, 5)).toBeGreaterThan(950 * 0.99)
        expect(outcome.p99).toBeLessThan(3 * p99)
      }
    },
  )
})

describe.each(Object.entries(SLOWING))('%s', (_, make) => {
  test.each(SEEDS)('is used as well when it is half as fast, and 5 s after it recovers: seed %i', (seed) => {
    for (const load of [1.5, 2, 5]) {
      const outcome = offer(make, load, seed, 30)
      expect(rate(outcome, 15, 20)).toBeGreaterThan(0.95 * 500)
      expect(rate(outcome, 25, 30)).toBeGreaterThan(0.95 * 1_000)
    }
  })
})
