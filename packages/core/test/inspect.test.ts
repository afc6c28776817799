import { format, inspect } from 'node:util'
import { fakeClock, modelStore } from '@spillway/conformance'
import { chai, expect, test } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { inFlight } from '../src/in-flight.ts'
import {
  fixedWindow,
  leakyBucket,
  perMinute,
  type Quota,
  rateLimiter,
  type Store,
  StoreError,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'

const limiterFor = (quota: Quota) => {
  const clock = fakeClock()
  return { clock, limiter: rateLimiter({ quota, store: modelStore(clock) }) }
}

test('reports the state, the decision, and when units are available', async () => {
  const { clock, limiter } = limiterFor(perMinute(10))
  await limiter.consume('a', 8)
  const [report] = await limiter.inspect('a')
  expect(report).toMatchObject({
    policy: 'default',
    quota: perMinute(10),
    kept: true,
    state: { now: clock(), tat: clock() + 48_000_000 },
    decision: { allowed: true, remaining: 2, limit: 10 },
  })
  expect(report?.available).toEqual([
    { units: 1, afterMs: 0 },
    { units: 5, afterMs: 18_000 },
    { units: 10, afterMs: 48_000 },
  ])
  clock.advance(18_000)
  expect((await limiter.inspect('a'))[0]?.available[1]).toEqual({ units: 5, afterMs: 0 })
  expect(JSON.parse(JSON.stringify(await limiter.inspect('a')))).toEqual(await limiter.inspect('a'))
})

/** Each algorithm, and for how long a key of it differs from a new one after one request. */
const quotas: readonly [string, Quota, number][] = [
  ['token bucket', perMinute(10), 6_000],
  ['thirds of a microsecond', tokenBucket({ limit: 3, per: '1s', burst: 7 }), 334],
  ['fixed window', fixedWindow({ limit: 10, window: '1m' }), 60_000],
  ['fixed window from the first request', fixedWindow({ limit: 10, window: '1m', align: 'first' }), 60_000],
  ['sliding window', slidingWindow({ limit: 10, window: '1m' }), 120_000],
  ['sliding log', slidingLog({ limit: 10, window: '1m' }), 60_000],
  ['leaky bucket', leakyBucket({ limit: 10, per: '1m', queue: 5 }), 6_000],
  ['warm-up', warmingUp({ limit: 10, per: '1m', warmUpPeriod: '1m' }), 3_600_000],
  ['initial units', tokenBucket({ limit: 10, per: '1m', initial: 2, keepFull: '1h' }), 48_000 + 3_600_000 + 6_000],
]

test.each(quotas)('says that nothing is kept for a new key: %s', async (_, quota, forMs) => {
  const { clock, limiter } = limiterFor(quota)
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: false })
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: false, decision: { allowed: true } })
  await limiter.consume('a')
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: true })
  clock.advance(forMs)
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: false })
})

test.each(quotas)('units are available exactly when it says: %s', async (_, quota) => {
  for (const used of [1, Math.ceil(quota.limit / 2), quota.limit]) {
    const { clock, limiter } = limiterFor(quota)
    await limiter.consume('a', used)
    const [report] = await limiter.inspect('a')
    for (const { units, afterMs } of report?.available ?? []) {
      if (afterMs === 0) expect(await limiter.peek('a', units)).toMatchObject({ allowed: true })
      else {
        clock.advance(afterMs - 0.001)
        expect([units, (await limiter.peek('a', units)).allowed]).toEqual([units, false])
        clock.advance(0.001)
        expect([units, (await limiter.peek('a', units)).allowed]).toEqual([units, true])
        clock.advance(-afterMs)
      }
    }
  }
})

// Reproduces a bug: they were reported to be available after 0 ms, though nothing tells when a slot is released.
test('no time is reported at which slots in use are available', async () => {
  const { limiter } = limiterFor(inFlight(10))
  const available = async (): Promise<unknown> => (await limiter.inspect('a'))[0]?.available
  const now = (...sizes: readonly number[]) => sizes.map((units) => ({ units, afterMs: 0 }))
  expect(await available()).toEqual(now(1, 5, 10))
  await limiter.consume('a', 4)
  expect(await available()).toEqual(now(1, 5))
  await limiter.consume('a', 6)
  expect(await available()).toEqual([])
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: true, decision: { allowed: false, retryAfterMs: 0 } })
})

test('an overdraft is available for a decision, and is no unit of the quota', async () => {
  const { limiter } = limiterFor(tokenBucket({ limit: 10, per: '10s', overdraft: 5 }))
  await limiter.consume('a', 10)
  const [report] = await limiter.inspect('a')
  expect(report?.decision).toMatchObject({ allowed: true, remaining: 0 })
  expect(report?.available[0]).toEqual({ units: 1, afterMs: 1_000 })
})

test('a debt is reported until it is paid', async () => {
  const { limiter } = limiterFor(perMinute(60))
  await limiter.charge('a', 100)
  expect((await limiter.inspect('a'))[0]).toMatchObject({
    kept: true,
    decision: { allowed: false, remaining: 0 },
    available: [{ afterMs: 41_000 }, { afterMs: 70_000 }, { afterMs: 100_000 }],
  })
})

test('reports each policy of a limiter by its name', async () => {
  const quotas = { second: perMinute(2), day: fixedWindow({ limit: 100, window: '1d' }) }
  const limiter = rateLimiter({ name: 'api', quotas, store: modelStore(fakeClock()) })
  expect(limiter.policies).toEqual([
    { name: 'api.second', quota: quotas.second },
    { name: 'api.day', quota: quotas.day },
  ])
  await limiter.consume('a', 2)
  const reports = await limiter.inspect('a')
  expect(reports.map(({ policy, decision }) => [policy, decision.remaining])).toEqual([
    ['api.second', 0],
    ['api.day', 98],
  ])
  expect(reports[0]?.available).toHaveLength(2)
})

test.each<[string, (store: Store) => Store]>([
  ['by a store without takeEach', (store) => ({ take: store.take, delete: store.delete })],
  ['through leases', (store) => withLeases(store, { requests: 10 })],
  ['through a deny cache', (store) => withDenyCache(store)],
  ['through hashed keys', (store) => withHashedKeys(store, (key) => `${key.length}`)],
])('reports the same %s, and writes nothing', async (_, wrapped) => {
  const clock = fakeClock()
  const remote = ({ take, delete: remove }: Store): Store => ({ take, delete: remove })
  const limiter = rateLimiter({ quota: perMinute(4), store: wrapped(remote(modelStore(clock))) })
  expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: false, decision: { remaining: 4 } })
  for (let i = 0; i < 5; i++) await limiter.consume('a')
  for (let i = 0; i < 2; i++) {
    expect((await limiter.inspect('a'))[0]).toMatchObject({ kept: true, decision: { allowed: false, remaining: 0 } })
  }
})

test('rejects if the store fails, or the key is none', async () => {
  const failing: Store = { take: () => Promise.reject(new StoreError('no answer')), delete: async () => 0 }
  const limiter = rateLimiter({ quota: perMinute(1), store: failing, logger: { warn() {} } })
  await expect(limiter.inspect('a')).rejects.toThrow(StoreError)
  await expect(limiter.inspect('')).rejects.toMatchObject({ code: 'ERR_SPILLWAY_KEY' })
})

test('reads a key of 15 kB', async () => {
  const { limiter } = limiterFor(perMinute(10))
  const key = '\u001b[2J<script>'.repeat(1_000)
  await limiter.consume(key, 10)
  expect((await limiter.inspect(key))[0]).toMatchObject({ kept: true, decision: { allowed: false } })
})

const unhandled = unhandledRejections()

// Chai called the method `inspect` of a limiter that it printed, whose promise rejected: the process ended.
test('a limiter is printed by its policies, and printing it calls none of its methods', async () => {
  const quotas = { second: perMinute(2), day: fixedWindow({ limit: 100, window: '1d' }) }
  const over = (store: Store) => rateLimiter({ name: 'api', quotas, store })
  const { take, delete: remove } = modelStore(fakeClock())
  for (const limiter of [over(modelStore(fakeClock())), over({ take, delete: remove })]) {
    const printed = 'RateLimiter(api.second, api.day)'
    expect([inspect(limiter), format(limiter), chai.util.inspect(limiter)]).toEqual([printed, printed, printed])
    expect(inspect({ limiter })).toBe(`{ limiter: ${printed} }`)
    expect(() => expect(limiter).toBe(1)).toThrow()
    expect(() => chai.expect(limiter).to.equal(1)).toThrow(printed)
    expect(() => chai.expect([limiter]).to.be.a('string')).toThrow(printed)
    expect(JSON.stringify(limiter)).toContain('api.second')
  }
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
})
