import { fakeClock, modelStore, START } from '@spillway/conformance'
import { divideQuota, rateLimiter, type State, type WarmUpTaken, warmingUp } from '@spillway/core'
import { runKernel, stepFor, takenOf, type Verb } from '@spillway/core/internal'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runsOf } from '../../../test/runs.ts'
import type { WarmUpQuota } from '../src/algorithms/quota-types.ts'
import { LONGEST_WARM_UP, slowdown } from '../src/kernels/warm-up.ts'

/** One key, by the kernel: asks at a time in microseconds after START. */
function keyOf(quota: WarmUpQuota) {
  let state: State | undefined
  return (verb: Verb, cost: number, at: number, of?: WarmUpTaken): WarmUpTaken => {
    const step = stepFor(quota, verb, cost, of === undefined ? {} : { original: of })
    const outcome = runKernel(state, START + at, step)
    if (verb !== 'peek') state = outcome.allowed ? outcome.taken : outcome.kept
    return takenOf(outcome, START + at, step, outcome.allowed && verb !== 'peek') as WarmUpTaken
  }
}

/**
 * The published rule, in floating point: stored permits, the interval of each as a function of how many are stored, and a
 * request's time as the integral of that function.
 */
function storedPermits(limit: number, perMicros: number, warmUpMicros: number) {
  const stable = perMicros / limit
  const threshold = (0.5 * warmUpMicros) / stable
  const most = threshold + (2 * warmUpMicros) / (stable + 3 * stable)
  const interval = (permits: number): number =>
    stable + Math.max(permits - threshold, 0) * ((2 * stable) / (most - threshold))
  let [stored, next] = [most, 0]
  return {
    turn: () => next,
    take(cost: number, at: number): void {
      if (at > next) {
        stored = Math.min(stored + ((at - next) * most) / warmUpMicros, most)
        next = at
      }
      const spent = Math.min(cost, stored)
      const above = Math.min(spent, Math.max(stored - threshold, 0))
      const slow = (above * (interval(stored) + interval(stored - above))) / 2
      next += slow + (cost - above) * stable
      stored -= spent
    },
  }
}

const quotas = fc.record({
  limit: fc.constantFrom(1, 2, 3, 7, 10, 99, 9_999, 30_000, 1_000_000, 3_000_000),
  per: fc.constantFrom('1s' as const, '1m' as const),
  warmUpPeriod: fc.constantFrom(1, 250, 1_000, 10_000, 3_600_000, 7_200_000),
})
/** Takes at turns and after idle time; returns the next turn. */
function play(
  history: readonly { readonly idle: number; readonly cost: number }[],
  ...keys: ReturnType<typeof keyOf>[]
) {
  let turn = 0
  for (const { idle, cost } of history) {
    const at = turn + idle
    for (const key of keys) turn = at + key('consume', cost, at).ahead
  }
  return turn
}

const calls = fc.array(
  fc.record({
    idle: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 9_000_000 })),
    cost: fc.integer({ min: 1, max: 9 }),
  }),
  { minLength: 1, maxLength: 40 },
)

describe('a quota that warms up', () => {
  test('has the turns of stored permits whose interval rises to three times the stable one', () => {
    fc.assert(
      fc.property(quotas, calls, ({ limit, per, warmUpPeriod }, history) => {
        const take = keyOf(warmingUp({ limit, per, warmUpPeriod, burst: 9 }))
        const peer = storedPermits(limit, per === '1s' ? 1e6 : 60e6, warmUpPeriod * 1_000)
        let turn = 0
        for (const [i, { idle, cost }] of history.entries()) {
          const at = turn + idle
          const { allowed, ahead } = take('consume', cost, at)
          peer.take(cost, at)
          turn = at + ahead
          expect(allowed).toBe(true)
          // Each take rounds its turn up by less than 1 µs, and how cold the key is by less than 1 µs, which is 2 µs of time.
          expect(Math.abs(turn - peer.turn())).toBeLessThan(4 * (i + 1))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('takes the warm-up period from cold to the full rate', () => {
    const take = keyOf(warmingUp({ limit: 1_000, per: '1s', warmUpPeriod: '10s' }))
    let turn = 0
    for (let i = 0; i < 5_000; i++) turn += take('consume', 1, turn).ahead
    // 5,000 units at twice the stable interval on average, each rounded up by less than 1 µs.
    expect(turn).toBeGreaterThanOrEqual(10_000_000)
    expect(turn).toBeLessThan(10_005_000)
    expect(take('consume', 1, turn).ahead).toBe(1_000)
  })

  test('rounds the slowdown up, exactly, up to the longest warm-up period', () => {
    const half = fc.oneof(fc.integer({ min: 1, max: LONGEST_WARM_UP / 2 }), fc.constant(LONGEST_WARM_UP / 2))
    const cold = fc.tuple(half, fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))
    fc.assert(
      fc.property(cold, ([half, one, other]) => {
        const [less, more] = [one, other].map((share) => Math.floor(share * 2 * half)).toSorted((a, b) => a - b) as [
          number,
          number,
        ]
        const [a, b] = [more, less].map((each) => BigInt(Math.max(each - half, 0))) as [bigint, bigint]
        const exact = (a * a - b * b + BigInt(half) - 1n) / BigInt(half)
        expect(slowdown(more, less, half)).toBe(Number(exact))
      }),
      { numRuns: runsOf(1_250) },
    )
    expect(slowdown(LONGEST_WARM_UP, 0, LONGEST_WARM_UP / 2)).toBe(LONGEST_WARM_UP / 2)
  })

  test('is exact in the long run, of a unit that does not take whole microseconds', () => {
    const quota = warmingUp({ limit: 9_999, per: '1s', warmUpPeriod: 1 })
    let state: State | undefined
    const step = stepFor(quota, 'consume', 1, { maxWaitMicros: 1e15 })
    let ahead = 0
    for (let i = 0; i < 9_999 * 3; i++) {
      const outcome = runKernel(state, START, step)
      state = outcome.taken
      ahead = (takenOf(outcome, START, step, true) as WarmUpTaken).ahead
    }
    // Three seconds, and the half of the warm-up period by which a cold key is slower, each of its ten takes rounded up.
    expect(ahead).toBeGreaterThanOrEqual(3_000_500)
    expect(ahead).toBeLessThan(3_000_511)
  })

  test('is as if a refunded last take had taken the rest, whenever it is refunded before the next turn', () => {
    const some = fc.integer({ min: 1, max: 9 })
    fc.assert(
      fc.property(
        quotas,
        calls,
        some,
        some,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (options, history, cost, rest, share) => {
          const quota = warmingUp({ ...options, burst: 9 })
          const [refunding, plain] = [keyOf(quota), keyOf(quota)]
          const turn = play(history, plain, refunding)
          const left = rest >= cost ? 0 : rest
          const taken = refunding('consume', cost, turn)
          if (left > 0) plain('consume', left, turn)
          const at = turn + Math.floor(taken.ahead * share)
          refunding('refund', cost - left, at, taken)
          for (const later of [at, at + 1, at + 5_000_000]) {
            expect(refunding('peek', 1, later)).toEqual(plain('peek', 1, later))
          }
          expect(refunding('consume', 3, at + 60_000_000)).toEqual(plain('consume', 3, at + 60_000_000))
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test.each([
    [{ limit: 0, per: '1s', warmUpPeriod: '1s' }, 'warmingUp limit must be a whole number, 1 or more; got 0. Use 1.'],
    [
      { limit: 1, per: '1s', warmUpPeriod: '3h' },
      `warmingUp warmUpPeriod must be at most '2h', so that it is counted exactly; got "3h". Use '2h' or less.`,
    ],
    [
      { limit: 1, per: '365d', warmUpPeriod: '1h', burst: 1_000 },
      'warmingUp: 1000 units would take over 95 years. Use a burst of 95 or less.',
    ],
  ] as const)('rejects %j', (options, message) => {
    expect(() => warmingUp(options)).toThrow(message)
  })

  test('reserves turns ahead of time, and returns the last ones that are cancelled', async () => {
    const clock = fakeClock()
    const quota = warmingUp({ limit: 1, per: '1s', warmUpPeriod: '4s' })
    const limiter = rateLimiter({ quota, store: modelStore(clock) })
    const [, second, third] = [await limiter.reserve('a'), await limiter.reserve('a'), await limiter.reserve('a')]
    expect([second.delayMs, third.delayMs]).toEqual([2_500, 4_000])
    await second.cancel()
    expect((await limiter.peek('a')).resetAfterMs).toBe(5_000)
    await third.cancel()
    expect((await limiter.peek('a')).resetAfterMs).toBe(4_000)
    await expect(limiter.wait('a', { maxWait: '3.999s' })).rejects.toThrow('can allow 1 unit after 4000 ms')
    await limiter.reset('a')
    const { commit } = await limiter.reserve('a')
    await commit(2)
    expect((await limiter.peek('a')).resetAfterMs).toBe(4_000)
  })

  test('is shared among processes: each has the same warm-up period, and its share of the rate', () => {
    const quota = warmingUp({ limit: 9, per: '1s', warmUpPeriod: '4s' })
    expect(divideQuota(quota, { replicas: 1 })).toEqual(quota)
    const share = warmingUp({ limit: 9, per: '2s', warmUpPeriod: '4s', burst: 4 })
    expect(divideQuota(quota, { replicas: 2 })).toEqual(share)
  })
})
