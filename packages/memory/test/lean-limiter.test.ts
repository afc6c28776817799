import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import {
  consumeAll,
  type Decision,
  fixedWindow,
  rateLimiter as fullLimiter,
  penalty,
  perMinute,
  type Quota,
  type SyncStore,
  slidingLog,
  slidingWindow,
  storeHealth,
  tokenBucket,
  warmingUp,
  withDenyCache,
  withLeases,
} from '@spillway/core'
import {
  block,
  charge,
  consumeUpTo,
  inspect,
  type LeanLimiterOptions,
  list,
  rateLimiter,
  refund,
  remoteStore,
  replace,
  reserve,
  resetAll,
  unblock,
  wait,
} from '@spillway/core/lean'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { memoryStore } from '../src/index.ts'

const QUOTAS: Readonly<Record<string, Quota>> = {
  bucket: perMinute(10),
  'a bucket with initial units': tokenBucket({ limit: 10, per: '1m', initial: 3 }),
  'a fixed window': fixedWindow({ limit: 9, window: '1m' }),
  'a sliding window': slidingWindow({ limit: 8, window: '1m' }),
  'a sliding log': slidingLog({ limit: 8, window: '1m' }),
  'a warm-up': warmingUp({ limit: 10, per: '1m', warmUpPeriod: '5m' }),
  'a penalty': penalty({ after: 5, within: '1m', block: '2m', extend: true }),
}

const STORES: Readonly<Record<string, (clock: () => number) => SyncStore>> = {
  memory: (clock) => memoryStore({ clock }),
  'a store that prepares nothing': modelStore,
}

const history = fc.array(
  fc.record({
    waitMs: fc.constantFrom(0, 0, 1, 999, 7_500, 31_000, -5_000),
    call: fc.constantFrom('consume', 'consume', 'consumeSync', 'peek', 'reset'),
    key: fc.constantFrom('alice', 'bob'),
    cost: fc.integer({ min: 1, max: 6 }),
  } as const),
  { maxLength: 25 },
)

afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(STORES))('a lean limiter over %s', (_, storeOn) => {
  test.each(Object.entries(QUOTAS))('decides as the full one: %s', async (_, quota) => {
    await fc.assert(
      fc.asyncProperty(history, async (history) => {
        const clock = fakeClock()
        const lean = rateLimiter({ quota, store: storeOn(clock) })
        const full = fullLimiter({ quota, store: storeOn(clock) })
        for (const { waitMs, call, key, cost } of history) {
          clock.advance(waitMs)
          const answers =
            call === 'reset' ? [lean.reset(key), full.reset(key)] : [lean[call](key, cost), full[call](key, cost)]
          const [ours, theirs] = await Promise.all(answers as unknown[])
          expect(ours).toEqual(theirs)
        }
      }),
    )
  })

  test('has the other verbs as functions', async () => {
    const store = storeOn(fakeClock())
    const limiter = rateLimiter({ name: 'api', quota: perMinute(10), store })
    const left = async (): Promise<number> => (await limiter.peek('alice')).remaining
    await limiter.consume('alice', 4)
    expect([(await refund(limiter, 'alice', 3)).remaining, await left()]).toEqual([9, 9])
    expect([(await charge(limiter, 'alice')).remaining, await left()]).toEqual([8, 8])
    expect(await consumeUpTo(limiter, 'alice', 12)).toMatchObject({ consumed: 8 })
    const { allowed, cancel } = await reserve(limiter, 'alice', { cost: 2 })
    expect(allowed).toBe(true)
    await cancel()
    expect(await inspect(limiter, 'alice')).toMatchObject([{ policy: 'api', kept: true, decision: { remaining: 0 } }])
    await expect(wait(limiter, 'alice', { maxWait: 1 })).rejects.toThrow('api')
    expect(await wait(limiter, 'bob')).toMatchObject({ allowed: true })
    expect((await consumeAll([[limiter, 'bob', 9]])).allowed).toBe(true)
    if (store.list) expect((await list(limiter)).keys.map(({ key }) => key)).toEqual(['alice', 'bob'])
    if (store.deleteAll) expect(await resetAll(limiter)).toBe(2)
    await expect(block(limiter, 'alice', '1h')).rejects.toThrow('Build it with blocks: true')
  })

  test('blocks keys if its quota does', async () => {
    const limiter = rateLimiter({
      quota: penalty({ after: 5, within: '1m', block: '2m' }),
      store: storeOn(fakeClock()),
    })
    await block(limiter, 'alice', '1h')
    expect([(await limiter.consume('alice')).allowed, (await limiter.consume('bob')).allowed]).toEqual([false, true])
    await unblock(limiter, 'alice')
    expect((await limiter.consume('alice')).allowed).toBe(true)
  })

  test('rejects invalid keys and costs', async () => {
    const { consume, consumeSync, peek, reset } = rateLimiter({ quota: perMinute(9), store: storeOn(fakeClock()) })
    for (const key of ['', undefined, 7]) {
      expect(() => consumeSync(key as never)).toThrow('key must be a non-empty string')
      expect(() => consumeSync(key as never, 2)).toThrow('key must be a non-empty string')
      for (const call of [consume, peek, reset]) {
        await expect(call(key as never)).rejects.toThrow('key must be a non-empty string')
      }
    }
    for (const cost of [0, 1.5, '2', { tokens: 1 }]) {
      await expect(consume('alice', cost as never)).rejects.toThrow('cost must be a whole number')
      await expect(peek('alice', cost as never)).rejects.toThrow('cost must be a whole number')
    }
  })
})

test('the verbs of a full limiter are functions of it, too', async () => {
  const limiter = fullLimiter({ quotas: { a: perMinute(5), b: perMinute(9) }, store: memoryStore() })
  await charge(limiter, 'alice', { a: 2, b: 3 })
  await refund(limiter, 'alice', { b: 1 })
  const remaining = async () => (await limiter.peek('alice')).policies?.map((each: Decision) => each.remaining)
  expect(await remaining()).toEqual([3, 7])
  replace(limiter, { quota: perMinute(20) })
  expect((await limiter.peek('bob')).limit).toBe(20)
})

describe('an option of the full limiter', () => {
  const store = memoryStore()

  test.each([
    ['deadline', '10ms', 'Write store: remoteStore(store, { deadline }).'],
    ['onStoreError', 'deny', 'Write store: remoteStore(store, { onStoreError }).'],
    ['replicas', 3, 'Write store: remoteStore(store, { replicas }).'],
    ['quotas', { a: perMinute(1) }, "The rateLimiter of '@spillway/core' has it."],
    ['spill', {}, "The rateLimiter of '@spillway/core' has it."],
    ['blocks', true, "The rateLimiter of '@spillway/core' has it."],
    ['onThreshold', () => {}, "The rateLimiter of '@spillway/core' has it."],
    ['names', 'api', 'It knows quota, name, store, logger.'],
  ])('%s throws with what brings it', (option, value, message) => {
    const options = { quota: perMinute(1), store, [option]: value } as unknown as LeanLimiterOptions
    expect(() => rateLimiter(options)).toThrow(message)
  })

  test('a function of quotas throws', () => {
    expect(() => rateLimiter({ quota: (() => perMinute(1)) as never, store })).toThrow(
      'quota must be built by perMinute',
    )
  })

  test('replace throws, as other verbs do for another value', async () => {
    const limiter = rateLimiter({ quota: perMinute(1), store })
    expect(() => replace(limiter, { quota: perMinute(2) })).toThrow('a lean limiter keeps its quota')
    for (const other of [undefined, null, 'limiter', {}, { ...limiter }]) {
      await expect(refund(other as never, 'alice')).rejects.toThrow('refund takes a limiter that rateLimiter has built')
      expect(() => replace(other as never, { quota: perMinute(2) })).toThrow('replace takes a limiter')
    }
  })
})

describe('a lean limiter over a remote store', () => {
  const silent = { warn: () => {} }

  test('needs what remoteStore gives it', () => {
    const store = faultyStore(modelStore(fakeClock()))
    expect(() => rateLimiter({ quota: perMinute(1), store })).toThrow('Write store: remoteStore(store).')
    expect(remoteStore(store)).toBe(store)
    expect(() => rateLimiter({ quota: perMinute(1), store })).not.toThrow()
  })

  test('counts there, and in the process while it fails', async () => {
    const store = remoteStore(faultyStore(modelStore(fakeClock())), { replicas: 5 })
    const limiter = rateLimiter({ quota: perMinute(10), store, logger: silent })
    expect([(await limiter.consume('alice', 4)).remaining, (await limiter.peek('alice')).remaining]).toEqual([6, 6])
    store.break('failing')
    expect(await limiter.consume('alice')).toMatchObject({ limit: 2, remaining: 1, degraded: { action: 'local' } })
    expect(await refund(limiter, 'alice')).toMatchObject({ remaining: 2, degraded: { action: 'local' } })
    expect(await consumeUpTo(limiter, 'alice', 9)).toMatchObject({ consumed: 2, degraded: { action: 'local' } })
    expect(storeHealth(store).circuit).toBe('closed')
    store.break('none')
    expect([await limiter.reset('alice'), (await limiter.peek('alice')).remaining]).toEqual([true, 10])
  })

  test('refunds what a store takes after the deadline', async () => {
    vi.useFakeTimers()
    const store = remoteStore(faultyStore(modelStore(fakeClock())), { deadline: '20ms', onStoreError: 'deny' })
    const limiter = rateLimiter({ quota: perMinute(10), store, logger: silent })
    store.break('slow')
    const denied = limiter.consume('alice', 4)
    await vi.advanceTimersByTimeAsync(100)
    expect(await denied).toMatchObject({ allowed: false, degraded: { reason: 'timeout', action: 'deny' } })
    vi.useRealTimers()
    store.break('none')
    await store.thaw()
    expect((await limiter.peek('alice')).remaining).toBe(10)
  })

  test.each([
    ['a deny cache', (store: ReturnType<typeof faultyStore>) => withDenyCache(store)],
    ['leases', (store: ReturnType<typeof faultyStore>) => withLeases(store, { requests: 10 })],
    ['a copy', (store: ReturnType<typeof faultyStore>) => ({ ...store })],
  ])('behind %s has what its store brings', async (_, layered) => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({
      quota: perMinute(1),
      store: layered(remoteStore(store, { onStoreError: 'throw' })),
      logger: silent,
    })
    store.break('failing')
    await expect(limiter.consume('alice')).rejects.toMatchObject({ code: 'ERR_SPILLWAY_STORE' })
  })

  test('gives a full limiter the options that it sets none of', async () => {
    const store = remoteStore(faultyStore(modelStore(fakeClock())), { onStoreError: 'allow' })
    store.break('failing')
    const options = { quota: perMinute(1), store, logger: silent }
    expect(await fullLimiter(options).consume('alice')).toMatchObject({ degraded: { action: 'allow' } })
    const denying = fullLimiter({ ...options, name: 'b', onStoreError: 'deny' })
    expect(await denying.consume('alice')).toMatchObject({ degraded: { action: 'deny' } })
  })
})

test.each([
  ['a store in memory', () => remoteStore(memoryStore()), 'it answers in the same tick'],
  ['a frozen store', () => remoteStore(Object.freeze(faultyStore(memoryStore()))), 'Pass a copy: { ...store }'],
  ['no store', () => remoteStore({} as never), 'the store of remoteStore must be a store'],
  ['a wrong deadline', () => remoteStore(faultyStore(memoryStore()), { deadline: -1 }), 'deadline'],
  [
    'a wrong option',
    () => remoteStore(faultyStore(memoryStore()), { dedline: 1 } as never),
    'It knows deadline, onStoreError, replicas.',
  ],
  [
    'a wrong mode',
    () => remoteStore(faultyStore(memoryStore()), { onStoreError: 'open' as never }),
    'onStoreError must be',
  ],
])('remoteStore rejects %s', (_, build, message) => {
  expect(build).toThrow(message)
})
