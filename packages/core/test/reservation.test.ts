import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  leakyBucket,
  perMinute,
  perSecond,
  type Quota,
  rateLimiter,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'

const setUp = (quota: Quota = perMinute(10)) => {
  const clock = fakeClock()
  const limiter = rateLimiter({ quota, store: modelStore(clock) })
  const left = async (): Promise<number> => (await limiter.peek('alice')).remaining
  return { clock, limiter, left }
}

const everyKind: readonly (readonly [string, Quota])[] = [
  ['token bucket', perMinute(10)],
  ['interval refill', tokenBucket({ limit: 10, per: '1m', refill: '1m' })],
  ['fixed window', fixedWindow({ limit: 10, window: '1m' })],
  ['fixed window from the first request', fixedWindow({ limit: 10, window: '1m', align: 'first' })],
  ['leaky bucket', leakyBucket({ limit: 10, per: '1m', queue: 9 })],
  ['sliding window', slidingWindow({ limit: 10, window: '1m' })],
  ['sliding log', slidingLog({ limit: 10, window: '1m' })],
]

describe.each(everyKind)('a reservation of four of ten, %s', (_, quota) => {
  test.each([
    ['committed as it is', 4, 6],
    ['committed at less', 1, 9],
    ['committed at nothing', 0, 10],
    ['committed at more', 7, 3],
    ['committed at more than there is: a debt', 12, 0],
  ])('%s', async (_, actual, remaining) => {
    const { limiter, left } = setUp(quota)
    const { commit, allowed } = await limiter.reserve('alice', { cost: 4 })
    expect([allowed, await left()]).toEqual([true, 6])
    await commit(actual)
    expect(await left()).toBe(remaining)
  })

  test('cancelled gives all back; settled again, in whatever way, nothing changes', async () => {
    const { limiter, left } = setUp(quota)
    const { commit, cancel } = await limiter.reserve('alice', { cost: 4 })
    await Promise.all([cancel(), cancel(), commit(9), commit()])
    expect(await left()).toBe(10)
    const other = await limiter.reserve('alice', { cost: 4 })
    await Promise.all([other.commit(), other.cancel(), other.commit(0)])
    expect(await left()).toBe(6)
  })

  // I13: what has come back by itself belongs to the caller that takes it next.
  test('settled after its units have refilled, refunds nothing of other takes', async () => {
    const { clock, limiter } = setUp(quota)
    const { cancel } = await limiter.reserve('alice', { cost: 4 })
    clock.advance(120_001)
    await limiter.consume('alice', 6)
    const before = await limiter.peek('alice')
    await cancel()
    expect(before.remaining).toBe(4)
    expect(await limiter.peek('alice')).toEqual(before)
  })
})

describe('a reservation', () => {
  // Found by the ledger of turns in 40,000 histories: the turn of the last take is no longer a burst before the end.
  test('that is committed at less keeps its turn, and what is cancelled before it makes no room ahead of that', async () => {
    const { clock, limiter, left } = setUp(perSecond(1, { burst: 9 }))
    await limiter.reserve('alice', { cost: 3 })
    const cancelled = await limiter.reserve('alice', { cost: 3 })
    const last = await limiter.reserve('alice', { cost: 9 })
    expect(last.delayMs).toBe(6_000)
    await last.commit(4)
    await cancelled.cancel()
    clock.advance(6_000)
    expect(await left()).toBe(9 - 4)
  })

  test('that is denied has nothing to settle', async () => {
    const { limiter, left } = setUp()
    await limiter.consume('alice', 8)
    const { allowed, retryAfterMs, commit, cancel } = await limiter.reserve('alice', { cost: 4, maxWait: 0 })
    expect([allowed, retryAfterMs]).toEqual([false, 12_000])
    await commit(1)
    await cancel()
    expect(await left()).toBe(2)
  })

  test('refunds no more than has not refilled meanwhile', async () => {
    const { clock, limiter } = setUp()
    const { cancel } = await limiter.reserve('alice', { cost: 4 })
    clock.advance(12_000)
    await limiter.consume('alice', 5)
    await cancel()
    expect(await limiter.peek('alice')).toMatchObject({ remaining: 5, resetAfterMs: 30_000 })
  })

  test('waits without a limit by default, in the order of the callers', async () => {
    const { limiter } = setUp(perSecond(1))
    const turns = await Promise.all([1, 2, 3].map(() => limiter.reserve('alice')))
    expect(turns.map(({ delayMs }) => delayMs)).toEqual([0, 1_000, 2_000])
  })

  test.each([
    ['none', 0, false],
    ['a microsecond too little', 1_999.999, false],
    ['just enough', 2_000, true],
    ['just enough, in words', '2s', true],
  ] as const)('with a maxWait of %s for a turn in two seconds', async (_, maxWait, allowed) => {
    const { limiter } = setUp(perSecond(1))
    await limiter.reserve('alice')
    await limiter.reserve('alice')
    const asked = await limiter.reserve('alice', { maxWait })
    expect([asked.allowed, asked.delayMs, asked.retryAfterMs]).toEqual(allowed ? [true, 2_000, 0] : [false, 0, 2_000])
  })

  test('of more than ever fits at once is denied for good, with any maxWait', async () => {
    const { limiter, left } = setUp()
    expect(await limiter.reserve('alice', { cost: 11 })).toMatchObject({ allowed: false, retryAfterMs: Infinity })
    expect(await left()).toBe(10)
    expect(await limiter.reserve('alice', { cost: 10 })).toMatchObject({ allowed: true, delayMs: 0 })
    expect(await limiter.reserve('alice', { cost: 10 })).toMatchObject({ allowed: true, delayMs: 60_000 })
  })

  test('of a queue waits in it, no longer than maxWait, and nowhere else', async () => {
    const { limiter } = setUp(leakyBucket({ limit: 1, per: '1s', queue: 2 }))
    const turn = async (maxWait?: number) => {
      const { allowed, delayMs } = await limiter.reserve('alice', maxWait === undefined ? {} : { maxWait })
      return allowed ? delayMs : 'denied'
    }
    expect([await turn(0), await turn(0), await turn(999), await turn(1_000)]).toEqual([0, 'denied', 'denied', 1_000])
    expect([await turn(), await turn(), await turn(60_000)]).toEqual([2_000, 'denied', 'denied'])
    const { limiter: short } = setUp(leakyBucket({ limit: 1, per: '1s', queue: 1 }))
    const turns = [await short.reserve('alice'), await short.reserve('alice'), await short.reserve('alice')]
    expect(turns.map(({ allowed }) => allowed)).toEqual([true, true, false])
  })

  test('of what may be paid for later waits until the last one is paid', async () => {
    const { limiter } = setUp(tokenBucket({ limit: 1, per: '1s', burst: 1, overdraft: 8 }))
    const turns: number[] = []
    for (const cost of [1, 8, 1, 2]) turns.push((await limiter.reserve('alice', { cost })).delayMs)
    expect(turns).toEqual([0, 0, 8_000, 9_000])
    expect((await limiter.charge('alice', 5)).delayMs).toBe(0)
  })

  test('of several quotas settles them all, and waits for the last one', async () => {
    const clock = fakeClock()
    const quotas = { second: perSecond(1), minute: perMinute(10), log: slidingLog({ limit: 20, window: '1m' }) }
    const limiter = rateLimiter({ quotas, store: modelStore(clock) })
    const left = async () => (await limiter.peek('alice')).policies?.map(({ remaining }) => remaining)
    await limiter.consume('alice')
    const { delayMs, cancel } = await limiter.reserve('alice')
    expect([delayMs, await left()]).toEqual([1_000, [0, 8, 18]])
    await cancel()
    expect(await left()).toEqual([0, 9, 19])
  })

  test('rejects if its store fails when it is settled', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota: perMinute(10), store })
    const { cancel } = await limiter.reserve('alice')
    store.break('failing')
    await expect(cancel()).rejects.toMatchObject({ code: 'ERR_SPILLWAY_STORE' })
  })

  // The charge was never sent: 3,900 units were free.
  test('charges one quota also if the refund of another fails', async () => {
    const states = modelStore(fakeClock())
    let failures = 0
    const store: Store = {
      take: async (ops, at) => {
        if (failures-- > 0) throw new Error('reset by peer')
        return states.takeSync(ops, at)
      },
      delete: (keys) => states.delete(keys),
    }
    const quotas = { requests: perMinute(100), tokens: perMinute(10_000) }
    const limiter = rateLimiter({ quotas, store, logger: { warn: () => {} } })
    const { commit } = await limiter.reserve('alice', { cost: { requests: 5, tokens: 100 } })
    failures = 1
    await expect(commit({ requests: 1, tokens: 4_000 })).rejects.toThrow('reset by peer')
    const { policies = [] } = await limiter.peek('alice')
    expect(policies.map(({ remaining }) => remaining)).toEqual([95, 6_000])
  })

  test.each([-1, 0.5, Number.NaN, '3', null, Infinity] as never[])('cannot have cost %s', async (actual) => {
    const { limiter, left } = setUp()
    const { commit } = await limiter.reserve('alice', { cost: 4 })
    await expect(commit(actual)).rejects.toThrow('what it really cost must be a whole number of units, 0 or more')
    await commit(2)
    expect(await left()).toBe(8)
  })

  test('knows its options', async () => {
    const { limiter } = setUp()
    await expect(limiter.reserve('alice', { maxwait: 1 } as never)).rejects.toThrow('Did you mean "maxWait"?')
    await expect(limiter.reserve('alice', { maxWait: -1 })).rejects.toThrow('maxWait must be a positive duration')
    await expect(limiter.reserve('', {})).rejects.toThrow('key must be a non-empty string')
  })
})
