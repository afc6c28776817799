import { fakeClock, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { consumeAll, perHour, perMinute, perSecond, rateLimiter, slidingLog, slidingWindow } from '../src/index.ts'

const setUp = () => {
  const clock = fakeClock()
  const store = modelStore(clock)
  const user = rateLimiter({ quota: perMinute(10), store, name: 'user' })
  const tenant = rateLimiter({ quota: slidingWindow({ limit: 20, window: '1m' }), store, name: 'tenant' })
  const model = rateLimiter({ quota: slidingLog({ limit: 30, window: '1h' }), store, name: 'model' })
  const left = async () =>
    Promise.all(
      [user.peek('alice'), tenant.peek('acme'), model.peek('large')].map(async (peeked) => (await peeked).remaining),
    )
  return { clock, user, tenant, model, left }
}

describe('consumeAll', () => {
  test('takes from three limiters of three algorithms, and says who speaks', async () => {
    const { user, tenant, model, left } = setUp()
    const decision = await consumeAll([
      [user, 'alice'],
      [tenant, 'acme', 4],
      [model, 'large', 28],
    ])
    expect(decision).toMatchObject({ allowed: true, policy: 'model', remaining: 2, violated: [], cost: 28 })
    expect(decision.policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['user', 9],
      ['tenant', 16],
      ['model', 2],
    ])
    expect(await left()).toEqual([9, 16, 2])
  })

  // I12, and rows 10 and 11 of the peers' bugs: what one denies, another has charged.
  test('consumes from none if one denies, and reports the longest wait of those that do', async () => {
    const { user, tenant, model, left } = setUp()
    await consumeAll([
      [user, 'alice', 10],
      [model, 'large', 30],
    ])
    const decision = await consumeAll([
      [user, 'alice'],
      [tenant, 'acme'],
      [model, 'large'],
    ])
    expect(decision).toMatchObject({ allowed: false, policy: 'model', violated: ['user', 'model'] })
    expect([decision.retryAfterMs, decision.delayMs]).toEqual([3_600_000, 0])
    expect(await left()).toEqual([0, 20, 0])
  })

  test('is all or none, whatever is asked', async () => {
    const costs = fc.array(fc.tuple(...[0, 1, 2].map(() => fc.integer({ min: 1, max: 12 }))), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(costs, async (history) => {
        const { user, tenant, model, left } = setUp()
        for (const [a, b, c] of history as [number, number, number][]) {
          const before = await left()
          const { allowed } = await consumeAll([
            [user, 'alice', a],
            [tenant, 'acme', b],
            [model, 'large', c],
          ])
          const fits = [a, b, c].every((cost, i) => cost <= (before[i] as number))
          expect(allowed).toBe(fits)
          expect(await left()).toEqual(before.map((units, i) => units - (fits ? ([a, b, c][i] as number) : 0)))
        }
      }),
    )
  })

  test('takes several keys of one limiter', async () => {
    const { user } = setUp()
    await consumeAll([
      [user, 'alice', 3],
      [user, 'bob', 4],
    ])
    const left = await Promise.all(['alice', 'bob'].map(async (key) => (await user.peek(key)).remaining))
    expect(left).toEqual([7, 6])
  })

  test('takes limiters of several quotas', async () => {
    const store = modelStore(fakeClock())
    const both = rateLimiter({ quotas: { second: perSecond(2), hour: perHour(9) }, store, name: 'both' })
    const one = rateLimiter({ quota: perMinute(5), store, name: 'one' })
    const { policies } = await consumeAll([
      [both, 'alice', 2],
      [one, 'alice'],
    ])
    expect(policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['both.second', 0],
      ['both.hour', 7],
      ['one', 4],
    ])
  })

  test.each([
    ['nothing', () => [], 'one limiter or more'],
    ['no limiter', () => [[{}, 'alice']], 'got an object for a limiter'],
    ['no key', (user: unknown) => [[user, '']], 'key must be a non-empty string'],
    ['a cost of none', (user: unknown) => [[user, 'alice', 0]], 'cost must be a whole number'],
    [
      'a key twice',
      (user: unknown) => [
        [user, 'alice', 3],
        [user, 'bob'],
        [user, 'alice', 4],
      ],
      'names key "alice" of "user" twice. Add up the costs.',
    ],
  ])('rejects %s, and takes nothing', async (_, takes, message) => {
    const { user, left } = setUp()
    await expect(consumeAll(takes(user) as never)).rejects.toThrow(message)
    expect(await left()).toEqual([10, 20, 30])
  })
})
