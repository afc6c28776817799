import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  perHour,
  perMinute,
  perSecond,
  QuotaError,
  rateLimiter,
  type Store,
  StoreError,
  slidingLog,
  tokenBucket,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'

const setUp = (quota = perMinute(10)) => {
  const clock = fakeClock()
  return { clock, limiter: rateLimiter({ quota, store: modelStore(clock) }) }
}

describe('a limiter', () => {
  test('admits exactly the limit of many callers', async () => {
    const { limiter } = setUp()
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('alice')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
  })

  test('allows a client that waits exactly retryAfterMs, and no sooner', async () => {
    const { clock, limiter } = setUp(perSecond(7, { burst: 3 }))
    limiter.consumeSync('alice', 3)
    const { retryAfterMs } = limiter.consumeSync('alice', 2)
    clock.advanceMicros(Math.round(retryAfterMs * 1000) - 1)
    expect(limiter.consumeSync('alice', 2)).toMatchObject({ allowed: false, retryAfterMs: 0.001 })
    clock.advanceMicros(1)
    expect(limiter.consumeSync('alice', 2).allowed).toBe(true)
  })

  test('gives a decision of its own each time', () => {
    const { limiter } = setUp()
    const first = limiter.consumeSync('alice')
    const second = limiter.consumeSync('alice')
    expect([first.remaining, second.remaining]).toEqual([9, 8])
  })

  test('says never, not later, to a cost that no time makes possible', async () => {
    const { limiter } = setUp()
    expect(await limiter.consume('alice', 11)).toMatchObject({ allowed: false, retryAfterMs: Infinity, remaining: 10 })
    expect(await limiter.consume('alice', Number.MAX_SAFE_INTEGER)).toMatchObject({
      allowed: false,
      retryAfterMs: Infinity,
    })
    expect(await limiter.consume('alice', 10)).toMatchObject({ allowed: true })
  })

  test('peeks at what consume would say, and takes nothing', async () => {
    const { limiter } = setUp()
    await limiter.consume('alice', 7)
    const peeked = await limiter.peek('alice', 4)
    expect(peeked).toMatchObject({ allowed: false, remaining: 3, retryAfterMs: 6_000 })
    expect(await limiter.consume('alice', 4)).toEqual(peeked)
    expect(await limiter.peek('alice', 3)).toMatchObject({ allowed: true, remaining: 3 })
    expect(await limiter.consume('alice', 3)).toMatchObject({ allowed: true, remaining: 0 })
  })

  // Rows 8 and 9 of the peers' bugs: a reward on a fresh key gives 7 of a limit of 2.
  test('refunds up to full and no further', async () => {
    const { limiter } = setUp(perMinute(2))
    expect(await limiter.refund('alice', 5)).toMatchObject({ allowed: true, remaining: 2 })
    await limiter.consume('alice')
    expect(await limiter.refund('alice', 5)).toMatchObject({ remaining: 2, resetAfterMs: 0 })
  })

  test('charges into debt, which is paid before anything else passes', async () => {
    const { clock, limiter } = setUp(perMinute(10))
    expect(await limiter.charge('alice', 30)).toMatchObject({ allowed: true, remaining: 0, resetAfterMs: 180_000 })
    expect(await limiter.consume('alice')).toMatchObject({ allowed: false, retryAfterMs: 126_000 })
    clock.advance(126_000)
    expect(await limiter.consume('alice')).toMatchObject({ allowed: true })
  })

  test('resets a key', async () => {
    const { limiter } = setUp()
    await limiter.consume('alice', 10)
    await limiter.consume('bob', 10)
    await limiter.reset('alice')
    expect(await limiter.peek('alice')).toMatchObject({ remaining: 10 })
    expect(await limiter.peek('bob')).toMatchObject({ remaining: 0 })
  })

  test('reports whether a reset key had a state', async () => {
    const { limiter } = setUp()
    expect(await limiter.reset('alice')).toBe(false)
    await limiter.peek('alice')
    await limiter.consume('alice', 11)
    expect(await limiter.reset('alice')).toBe(false)
    await limiter.consume('alice')
    expect(await limiter.reset('alice')).toBe(true)
    expect(await limiter.reset('alice')).toBe(false)
  })

  test.each<[string, (store: Store) => Store]>([
    ['promises', (store) => store],
    ['a deny cache', (store) => withDenyCache(store)],
    ['leases', (store) => withLeases(store, { requests: 2 })],
    ['hashed keys', (store) => withHashedKeys(store, (key) => `#${key}`)],
  ])('reports it of a store behind %s', async (_, before) => {
    const store = before(faultyStore(modelStore(fakeClock())))
    const limiter = rateLimiter({ quotas: { minute: perMinute(10), hour: perHour(1) }, store })
    const single = rateLimiter({ name: 'hour', quota: perHour(1), store })
    expect(await limiter.reset('alice')).toBe(false)
    await single.consume('alice')
    await single.consume('alice')
    expect(await limiter.reset('alice')).toBe(true)
    expect(await limiter.reset('alice')).toBe(false)
  })

  test('grants a large request now and lets the next one wait, where there is an overdraft', async () => {
    const { limiter } = setUp(tokenBucket({ limit: 1, per: '1s', burst: 1, overdraft: 10 }))
    expect(await limiter.consume('alice', 11)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('alice', 1)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
    expect(await limiter.consume('alice', 12)).toMatchObject({ retryAfterMs: Infinity })
  })
})

describe('several quotas on one key', () => {
  const setUp = () => {
    const clock = fakeClock()
    const quotas = { burst: perSecond(2), hourly: perHour(100) }
    return { clock, limiter: rateLimiter({ quotas, store: modelStore(clock) }) }
  }

  // Rows 10 and 11 of the peers' bugs: one success and nine denials by one limiter spend ten of the other.
  test('are taken together or not at all', async () => {
    const { clock, limiter } = setUp()
    const decisions = await Promise.all(Array.from({ length: 10 }, () => limiter.consume('alice')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
    clock.advance(1_000)
    const { policies } = await limiter.peek('alice')
    expect(policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['burst', 2],
      ['hourly', 98],
    ])
  })

  test('answer with the policy that has least left, or waits longest', async () => {
    const { limiter } = setUp()
    expect(await limiter.consume('alice')).toMatchObject({ policy: 'burst', limit: 2, remaining: 1, violated: [] })
    const denied = await limiter.consume('alice', 2)
    expect(denied).toMatchObject({ allowed: false, policy: 'burst', violated: ['burst'], retryAfterMs: 500 })
    const never = await limiter.consume('alice', 101)
    expect(never).toMatchObject({ violated: ['burst', 'hourly'], retryAfterMs: Infinity })
  })

  test('are all deleted by a reset', async () => {
    const { limiter } = setUp()
    await limiter.consume('alice', 2)
    await limiter.reset('alice')
    expect((await limiter.peek('alice')).policies?.map(({ remaining }) => remaining)).toEqual([2, 100])
  })
})

describe('a call written wrongly', () => {
  test.each([0, -1, 1.5, Number.NaN, Infinity, '5', null, [], 2n, 2 ** 53] as never[])(
    'with cost %s is rejected, and says so',
    async (cost) => {
      const { limiter } = setUp()
      await expect(limiter.consume('alice', cost)).rejects.toThrow(QuotaError)
      await expect(limiter.consume('alice', cost)).rejects.toThrow(
        /cost must be a whole number of units, 1 or more; got /,
      )
      expect(() => limiter.consumeSync('alice', cost)).toThrow(QuotaError)
      expect(await limiter.peek('alice')).toMatchObject({ remaining: 10 })
    },
  )

  test.each(['', null, undefined, 5, {}] as never[])('with key %s is rejected, with the reason', async (key) => {
    await expect(setUp().limiter.consume(key)).rejects.toThrow('key must be a non-empty string')
    await expect(setUp().limiter.reset(key)).rejects.toThrow('key must be a non-empty string')
  })

  test('with a debt of centuries is denied', async () => {
    await expect(setUp().limiter.charge('alice', 2 ** 52)).rejects.toThrow('95 years of this quota')
  })
})

describe('a limiter written wrongly', () => {
  const store = modelStore(fakeClock())
  const quota = perMinute(1)
  test.each([
    ['no options', undefined, 'rateLimiter takes an object of options'],
    ['no quota', { store }, 'quota must be built by perMinute(100)'],
    ['a number for quota', { quota: 100, store }, 'got 100'],
    ['both kinds', { quota, quotas: { a: quota }, store }, 'quota or quotas, not both'],
    ['no quotas', { quotas: {}, store }, 'at least one quota'],
    ['a bad name', { quota, store, name: 'naïve' }, 'printable ASCII'],
    ['a misspelt option', { quotta: quota, store }, 'Did you mean "quota"?'],
    ['no store', { quota }, 'store must be a store, such as memoryStore()'],
  ] as never[])('with %s says what to write', (_: string, options: never, message: string) => {
    expect(() => rateLimiter(options)).toThrow(message)
    expect(() => rateLimiter(options)).toThrow(QuotaError)
  })
})

// A full log of 10,000 blocked Redis for 3.3 ms and PostgreSQL for 29 ms a take, and the deadline failed.
describe('a store that keeps short logs', () => {
  const store = { take: async () => [], delete: async () => 0, maxLogLimit: 1_000 }
  const log = (limit: number) => slidingLog({ limit, window: '1m' })
  test.each([
    ['as it is', store],
    ['behind wrappers', withLeases(withDenyCache(withHashedKeys(store, (key) => key)), { requests: 2 })],
  ])('rejects a longer one, %s', (_, store) => {
    expect(() => rateLimiter({ quota: log(1_001), store })).toThrow(
      'this store keeps sliding logs of up to 1000 entries, since a take reads and writes the whole log; got a limit of 1001. Use slidingWindow',
    )
    expect(() => rateLimiter({ quota: log(1_000), store })).not.toThrow()
  })
})

describe('a store that fails', () => {
  const failing = (error: unknown): Store => ({
    take: () => Promise.reject(error),
    delete: () => Promise.resolve(0),
  })

  test('is reported as a StoreError with its cause', async () => {
    const cause = new Error('connection lost')
    const limiter = rateLimiter({ quota: perMinute(1), store: failing(cause), onStoreError: 'throw' })
    await expect(limiter.consume('alice')).rejects.toMatchObject({
      name: 'StoreError',
      code: 'ERR_SPILLWAY_STORE',
      cause,
    })
    const own = new StoreError('no answer', cause)
    const throwing = (error: unknown) =>
      rateLimiter({ quota: perMinute(1), store: failing(error), onStoreError: 'throw' }).consume('alice')
    await expect(throwing(own)).rejects.toBe(own)
    await expect(throwing('gone')).rejects.toThrow('"gone"')
  })

  test('gives no synchronous limiter', () => {
    expect('consumeSync' in rateLimiter({ quota: perMinute(1), store: failing(0) })).toBe(false)
  })
})

// They were answered with the list of all options.
test.each([
  [{ points: 5, duration: 1 }, 'rateLimiter has no option "points". Here that is quota: perMinute(100). ['],
  [{ quota: perMinute(5), duration: 1 }, 'Here that is quota: perMinute(100). ['],
  [{ quota: perMinute(5), keyPrefix: 'login' }, 'Here that is name. ['],
  [{ quota: perMinute(5), blockDuration: 60 }, 'Here that is quota: penalty(…). ['],
  [{ quota: perMinute(5), insuranceLimiter: {} }, 'Here that is onStoreError. ['],
  // A limiter without HTTP has no key of its own.
  [{ quota: perMinute(5), keyGenerator: () => 'a' }, 'has no option "keyGenerator". It knows quota, quotas, '],
])('the options %j of other limiters are rejected with what to write here', (options, message) => {
  expect(() => rateLimiter({ ...options, store: modelStore(fakeClock()) } as never)).toThrow(message)
})
