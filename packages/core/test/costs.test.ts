import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Costs, consumeAll, perHour, perMinute, type RateLimiter, rateLimiter, slidingLog } from '../src/index.ts'

const quotas = { requests: perMinute(60), tokens: perHour(100_000), log: slidingLog({ limit: 50, window: '1m' }) }

const setUp = () => rateLimiter({ name: 'api', quotas, store: modelStore(fakeClock()) })

const used = async (limiter: RateLimiter, key = 'alice') =>
  (await limiter.peek(key)).policies?.map(({ limit, remaining }) => limit - remaining)

describe('a cost for each policy', () => {
  test('is consumed from each; a policy that is not named costs 1, and 0 leaves it out', async () => {
    const limiter = setUp()
    const decision = await limiter.consume('alice', { requests: 2, tokens: 4_000 })
    expect(decision.policies?.map(({ cost }) => cost)).toEqual([2, 4_000, 1])
    expect(await used(limiter)).toEqual([2, 4_000, 1])
    const partial = await limiter.consume('alice', { requests: 0, tokens: 500, log: 0 })
    expect(partial).toMatchObject({ policy: 'api.tokens', cost: 500, remaining: 95_500 })
    expect(partial.policies).toBeUndefined()
    expect(await used(limiter)).toEqual([2, 4_500, 1])
  })

  test('is all or none, and the denial names the policy', async () => {
    const limiter = setUp()
    const denied = await limiter.consume('alice', { log: 51 })
    expect(denied).toMatchObject({ allowed: false, policy: 'api.log', violated: ['api.log'], retryAfterMs: Infinity })
    expect(await used(limiter)).toEqual([0, 0, 0])
    expect(await limiter.peek('alice', { tokens: 100_001, log: 0 })).toMatchObject({ violated: ['api.tokens'] })
  })

  test('is charged and refunded only where it is named', async () => {
    const limiter = setUp()
    await limiter.consume('alice', 5)
    await limiter.charge('alice', { tokens: 812 })
    await limiter.refund('alice', { log: 4, requests: 0 })
    expect(await used(limiter)).toEqual([5, 817, 1])
  })

  test('is reserved, and committed for those that are named', async () => {
    const limiter = setUp()
    const { allowed, commit } = await limiter.reserve('alice', { cost: { requests: 1, tokens: 4_000, log: 2 } })
    expect([allowed, await used(limiter)]).toEqual([true, [1, 4_000, 2]])
    await commit({ tokens: 812, log: 7 })
    await commit({ tokens: 1 })
    expect(await used(limiter)).toEqual([1, 812, 7])
    const kept = await limiter.reserve('alice', { cost: { tokens: 4_000 } })
    await kept.commit()
    expect(await used(limiter)).toEqual([2, 4_812, 8])
    const cancelled = await limiter.reserve('alice', { cost: { tokens: 4_000 } })
    await cancelled.cancel()
    expect(await used(limiter)).toEqual([2, 4_812, 8])
    expect(await limiter.wait('alice', { cost: { log: 40 } })).toMatchObject({ allowed: true })
    expect(await used(limiter)).toEqual([3, 4_813, 48])
  })

  test('of a single quota is named as the limiter is', async () => {
    const store = modelStore(fakeClock())
    const single = rateLimiter({ quota: perMinute(60), name: 'single', store })
    const unnamed = rateLimiter({ quota: perMinute(60), store })
    const remote = rateLimiter({ quota: perMinute(60), name: 'remote', store: faultyStore(store) })
    expect(single.consumeSync('alice', { single: 7 })).toEqual(single.consumeSync('bob', 7))
    expect(await unnamed.consume('alice', { default: 7 })).toMatchObject({ cost: 7, remaining: 53 })
    expect(await remote.consume('alice', { remote: 7 })).toMatchObject({ cost: 7, remaining: 53 })
  })

  test('of a spill policy is that of its source, unless it is named; a commit for either settles what was consumed', async () => {
    const limiter = rateLimiter({
      quotas: { plan: perMinute(10), extra: perHour(100) },
      spill: { plan: 'extra' },
      store: modelStore(fakeClock()),
    })
    await limiter.consume('alice', { plan: 8 })
    const spilled = await limiter.reserve('alice', { cost: { plan: 4 }, maxWait: 0 })
    expect(spilled).toMatchObject({ allowed: true, policy: 'extra', cost: 4, spilled: ['plan'], remaining: 96 })
    await spilled.commit({ plan: 1 })
    expect(await limiter.consume('alice', { plan: 5, extra: 20 })).toMatchObject({ policy: 'extra', remaining: 79 })
    const own = await limiter.reserve('alice', { cost: 9, maxWait: 0 })
    await own.commit({ extra: 0, plan: 9 })
    expect(await limiter.consume('alice', { plan: 3, extra: 1 })).toMatchObject({ policy: 'extra', remaining: 78 })
    expect(await limiter.consume('alice', { plan: 3, extra: 0 })).toMatchObject({ allowed: false, violated: ['plan'] })
  })

  // A charge of the spill policy alone failed with a TypeError, and beside its source it was ignored.
  test('of a spill policy is charged, refunded, and consumed without its source, where it is named', async () => {
    const limiter = rateLimiter({
      quotas: { plan: perMinute(10), extra: perMinute(100) },
      spill: { plan: 'extra' },
      store: modelStore(fakeClock()),
    })
    const remaining = async () => (await limiter.inspect('alice')).map(({ decision }) => decision.remaining)
    expect(await limiter.charge('alice', { extra: 7 })).toMatchObject({ policy: 'extra', remaining: 93 })
    await limiter.charge('alice', { plan: 3, extra: 3 })
    expect(await remaining()).toEqual([7, 90])
    await limiter.refund('alice', { extra: 10 })
    expect(await remaining()).toEqual([7, 100])
    expect(await limiter.consume('alice', { plan: 0, extra: 5 })).toMatchObject({ policy: 'extra', remaining: 95 })
    expect(await limiter.peek('alice', { plan: 0, extra: 96 })).toMatchObject({ allowed: false, policy: 'extra' })
    expect(await remaining()).toEqual([7, 95])
    await expect(limiter.consume('alice', { plan: 0 })).rejects.toThrow('cost leaves out every policy')
  })

  test('is counted as by a limiter for each', async () => {
    const history = fc.array(
      fc.record({ requests: fc.integer({ min: 1, max: 70 }), tokens: fc.integer({ min: 1, max: 60_000 }) }),
      { maxLength: 8 },
    )
    await fc.assert(
      fc.asyncProperty(history, fc.boolean(), async (costs, remote) => {
        const model = modelStore(fakeClock())
        const { log: _, ...two } = quotas
        const together = rateLimiter({ quotas: two, store: remote ? faultyStore(model) : model })
        const apart = Object.entries(two).map(([name, quota]) =>
          rateLimiter({ name, quota, store: modelStore(fakeClock()) }),
        )
        for (const cost of costs) {
          const { allowed } = await together.consume('alice', cost)
          const each = apart.map((limiter, i) => [limiter, 'alice', Object.values(cost)[i] as number] as const)
          expect(allowed).toBe((await consumeAll(each)).allowed)
        }
      }),
      { numRuns: 40 },
    )
  })
})

describe('an invalid cost for each policy', () => {
  const calls: readonly (readonly [string, (limiter: RateLimiter, cost: never) => Promise<unknown>])[] = [
    ['consume', (limiter, cost) => limiter.consume('alice', cost)],
    ['consumeSync', async (limiter, cost) => (limiter as ReturnType<typeof setUp>).consumeSync('alice', cost)],
    ['peek', (limiter, cost) => limiter.peek('alice', cost)],
    ['refund', (limiter, cost) => limiter.refund('alice', cost)],
    ['charge', (limiter, cost) => limiter.charge('alice', cost)],
    ['reserve', (limiter, cost) => limiter.reserve('alice', { cost })],
    ['wait', (limiter, cost) => limiter.wait('alice', { cost })],
    ['consumeAll', (limiter, cost) => consumeAll([[limiter, 'alice', cost]])],
    ['commit', async (limiter, cost) => (await limiter.reserve('alice')).commit(cost)],
  ]
  const invalid: readonly (readonly [unknown, string])[] = [
    [{ token: 1 }, 'names "token", which is no policy of this limiter. Did you mean "tokens"?'],
    [{ 'api.tokens': 1 }, 'It has "requests", "tokens", "log".'],
    [{ toString: 1 }, 'names "toString"'],
    [{ tokens: Number.NaN }, 'cost of "tokens" must be a whole number of units, 0 or more; got NaN.'],
    [{ tokens: '5' }, 'got "5".'],
    [{ tokens: -1 }, 'got -1.'],
    [{ tokens: 1.5 }, 'got 1.5.'],
    [{ tokens: 2 ** 53 }, 'cost of "tokens" must be a whole number'],
    [{ tokens: undefined }, 'got undefined.'],
    [{ tokens: Promise.resolve(5) }, 'got a promise. Await it first.'],
    [Promise.resolve({ tokens: 5 }), 'cost is a promise. Await it first.'],
    [{}, 'names no policy; got an object. This limiter has "requests", "tokens", "log".'],
    [[1, 2], 'got an array. For a cost of each policy, write { requests: 1 }.'],
    ['5', 'must be a whole number of units'],
  ]
  test.each(calls)('is rejected by %s, and changes nothing', async (name, call) => {
    for (const [cost, message] of invalid) {
      const limiter = setUp()
      await expect(call(limiter, cost as never)).rejects.toThrow(message)
      expect(await used(limiter)).toEqual(name === 'commit' ? [1, 1, 1] : [0, 0, 0])
    }
  })

  test('leaves out every policy', async () => {
    const none: Costs = { requests: 0, tokens: 0, log: 0 }
    for (const [name, call] of calls) {
      if (name === 'commit') continue
      await expect(call(setUp(), none as never)).rejects.toThrow(
        'leaves out every policy: "requests", "tokens", "log".',
      )
    }
    await expect(setUp().charge('alice', { tokens: 0 })).rejects.toThrow('leaves out every policy')
  })
})
