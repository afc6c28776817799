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
      const outcome = offer(make, load, seed, { seconds: 30 })
      expect(rate(outcome, 15, 20)).toBeGreaterThan(0.95 * 500)
      expect(rate(outcome, 25, 30)).toBeGreaterThan(0.95 * 1_000)
    }
  })
})

// Each process took the queue that the others caused for a slow service, as they probed at different times: in 60 s the limits of
// 4 processes grew to 639 in all, with a p99 of 640 ms, and those of 16 to 1,100, with one of 1,090 ms.
describe.each(['a semaphore of 20, 20 ms each', 'a CPU, 1 ms each'])('several processes that share %s', (name) => {
  const make = SERVICES[name] as (typeof SERVICES)[string]
  const rows = SEEDS.flatMap((seed) => [0, 20].map((skew) => ({ seed, skew })))

  test.each(rows)('keep its queue short at twice its load: seed $seed, clocks $skew ms apart', ({ seed, skew }) => {
    for (const [processes, most] of [
      [4, 160],
      [16, 550],
    ] as const) {
      const outcome = offer(make, 2, seed, { seconds: 60, processes, skew })
      expect(rate(outcome, 5)).toBeGreaterThan(950)
      expect(outcome.p99).toBeLessThan(most)
    }
  })
})
