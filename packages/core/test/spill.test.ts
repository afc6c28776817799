import { fakeClock, modelStore, START } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Decision, perDay, perHour, perMinute, perSecond, rateLimiter, type Store } from '../src/index.ts'
import { checkSpill } from '../src/policies/spill-targets.ts'
import { quotas, spill } from './spilling.ts'

const setUp = (store?: Store) => {
  const clock = fakeClock()
  return { clock, limiter: rateLimiter({ quotas, spill, store: store ?? modelStore(clock) }) }
}

describe('a limiter with a spill policy', () => {
  test('draws upon it only if the other is empty, and says which one paid', async () => {
    const { clock, limiter } = setUp()
    const first = await limiter.consume('a', 2)
    expect(first).toMatchObject({ allowed: true, policy: 'second', remaining: 0 })
    expect(first).not.toHaveProperty('spilled')
    expect(await limiter.consume('a')).toMatchObject({
      allowed: true,
      policy: 'extra',
      remaining: 2,
      spilled: ['second'],
      violated: [],
    })
    clock.advance(1_000)
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'second', remaining: 0 })
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'extra', remaining: 0 })
  })

  test('denies if both are empty, with the sooner of the two waits', async () => {
    const { clock, limiter } = setUp()
    for (const cost of [2, 3]) await limiter.consume('a', cost)
    const denied = await limiter.consume('a')
    expect(denied).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: 500, violated: ['second', 'extra'] })
    expect(denied.policies?.map(({ policy, retryAfterMs }) => [policy, retryAfterMs])).toEqual([
      ['second', 500],
      ['extra', 20_000],
    ])
    expect(await limiter.peek('a')).toEqual(denied)
    clock.advanceMicros(499_999)
    expect((await limiter.consume('a')).allowed).toBe(false)
    clock.advanceMicros(1)
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, policy: 'second' })
  })

  test('waits for the spill policy where the other never holds as much, and for neither where both never do', async () => {
    const { clock, limiter } = setUp()
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: true, policy: 'extra' })
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: false, policy: 'extra', retryAfterMs: 60_000 })
    clock.advance(60_000)
    expect((await limiter.consume('a', 3)).allowed).toBe(true)
    expect(await limiter.consume('a', 4)).toMatchObject({ allowed: false, retryAfterMs: Infinity })
  })

  test('consumes nothing of it where another policy denies', async () => {
    const limiter = rateLimiter({
      quotas: { second: perSecond(2), day: perDay(3), extra: perMinute(10) },
      spill,
      store: modelStore(() => START),
    })
    const decisions: Decision[] = []
    for (let i = 0; i < 5; i++) decisions.push(await limiter.consume('a'))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
    expect(decisions[2]).toMatchObject({ spilled: ['second'] })
    expect(decisions[2]?.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['extra', 9],
      ['day', 0],
    ])
    // Of the two, extra has room at once: only the day is waited for.
    expect(decisions[4]).toMatchObject({ policy: 'day', violated: ['second', 'day'], retryAfterMs: 28_800_000 })
  })

  test('spills over a chain of policies, in its order', async () => {
    const chain = { a: perSecond(1), b: perMinute(1), c: perHour(1) }
    const limiter = rateLimiter({ quotas: chain, spill: { a: 'b', b: 'c' }, store: modelStore(() => START) })
    const paid: unknown[] = []
    for (let i = 0; i < 4; i++) {
      const { policy, spilled, allowed } = await limiter.consume('k')
      paid.push([allowed, policy, spilled])
    }
    expect(paid).toEqual([
      [true, 'a', undefined],
      [true, 'b', ['a']],
      [true, 'c', ['a', 'b']],
      [false, 'a', ['a', 'b']],
    ])
  })

  test('returns units to the policy that paid', async () => {
    const { limiter } = setUp()
    await limiter.consume('a', 2)
    const reservation = await limiter.reserve('a', { cost: 3, maxWait: 0 })
    expect(reservation).toMatchObject({ allowed: true, policy: 'extra' })
    await reservation.commit(1)
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true, policy: 'extra', remaining: 0 })
    await limiter.refund('a', 2) // without a reservation: to the first policies
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true, policy: 'second' })
  })

  test('is reset with it, and consumeUpTo leaves it alone', async () => {
    const { limiter } = setUp()
    expect(await limiter.consumeUpTo('a', 9)).toMatchObject({ consumed: 2 })
    expect(await limiter.consumeUpTo('a', 9)).toMatchObject({ consumed: 0 })
    await limiter.consume('a', 3)
    expect(await limiter.resetAll('extra')).toBe(1)
    expect(await limiter.consume('a', 3)).toMatchObject({ allowed: true, policy: 'extra' })
    expect(await limiter.reset('a')).toBe(true)
    expect(await limiter.consume('a', 2)).toMatchObject({ policy: 'second' })
  })

  test('answers in the same tick if the store does', () => {
    const limiter = rateLimiter({ quotas, spill, store: modelStore(() => START) })
    expect(limiter.consumeSync('a', 2).policy).toBe('second')
    expect(limiter.consumeSync('a', 2).policy).toBe('extra')
  })

  // A limiter for each quota, on a store of its own, predicts which quota pays.
  test('allows exactly what one of both has room for, whatever the history', () => {
    const calls = fc.array(fc.tuple(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 1, max: 4 })), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(calls, (history) => {
        const clock = fakeClock()
        const limiter = rateLimiter({ quotas, spill, store: modelStore(clock) })
        const apart = Object.entries(quotas).map(([name, quota]) =>
          rateLimiter({ name, quota, store: modelStore(clock) }),
        )
        for (const [afterMs, cost] of history) {
          clock.advance(afterMs)
          const paid = apart.find((each) => each.consumeSync('a', cost).allowed)
          const { allowed, policy } = limiter.consumeSync('a', cost)
          expect(allowed).toBe(paid !== undefined)
          if (paid) expect(policy).toBe(paid === apart[0] ? 'second' : 'extra')
        }
      }),
    )
  })
})

test('a chain is checked in as many steps as it has policies', () => {
  /** How often the check reads a chain of so many policies. */
  const readsOf = (length: number): number => {
    let reads = 0
    const counting = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (from, name) => {
          reads++
          return Reflect.get(from, name)
        },
      })
    const names = Array.from({ length }, (_, i) => `rule ${i}`)
    const chain = Object.fromEntries(names.slice(1).map((name, i) => [names[i], name]))
    expect(() => checkSpill(counting(chain), counting(names))).toThrow(`starts a chain of ${length} policies`)
    return reads
  }
  expect(readsOf(500)).toBeLessThan(5 * 500)
  expect(readsOf(2_000) / readsOf(500)).toBeLessThan(4.5)
})
