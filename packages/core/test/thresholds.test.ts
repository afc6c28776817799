import { fakeClock, modelStore } from '@spillway/conformance'
import { expect, test, vi } from 'vitest'
import { httpGuard, type RequestReader } from '../src/http/index.ts'
import {
  consumeAll,
  fixedWindow,
  penalty,
  perMinute,
  type Quota,
  rateLimiter,
  type Store,
  type ThresholdEvent,
  withDenyCache,
  withLeases,
} from '../src/index.ts'

/** A limiter whose events are recorded as `key threshold`. */
function watched(quota: Quota) {
  const clock = fakeClock()
  const events: string[] = []
  const onThreshold = ({ key, threshold }: ThresholdEvent) => events.push(`${key} ${threshold}`)
  const store = { ...modelStore(clock), clock }
  return { clock, events, limiter: rateLimiter({ quota, store, onThreshold }) }
}

test('a key crosses 80 % and 100 % once each', async () => {
  const { events, limiter } = watched(fixedWindow({ limit: 10, window: '1m' }))
  const seen: number[] = []
  for (let i = 0; i < 12; i++) {
    await limiter.consume('a')
    seen.push(events.length)
  }
  expect(seen).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
  expect(events).toEqual(['a 0.8', 'a 1'])
  await limiter.consume('b', 10)
  expect(events.slice(2)).toEqual(['b 0.8', 'b 1'])
})

// Each route of NestJS that changes a policy has a limiter of its own: one key reported 80 % as often as it had routes.
test('a key crosses once for all limiters that share the store and the listener', async () => {
  const events: string[] = []
  const onThreshold = ({ key, threshold }: ThresholdEvent) => events.push(`${key} ${threshold}`)
  const options = { quota: fixedWindow({ limit: 10, window: '1m' }), onThreshold }
  const [store, other] = [modelStore(fakeClock()), modelStore(fakeClock())]
  const [first, second] = [rateLimiter({ ...options, store }), rateLimiter({ ...options, store })]
  await first.consume('a', 9)
  await second.consume('a', 1)
  expect(events).toEqual(['a 0.8', 'a 1'])
  await rateLimiter({ ...options, store: other }).consume('a', 8)
  expect(events).toEqual(['a 0.8', 'a 1', 'a 0.8'])
})

test('once per window: the next window reports again', async () => {
  for (const quota of [
    fixedWindow({ limit: 5, window: '1m' }),
    fixedWindow({ limit: 5, window: '1m', align: 'first' }),
  ]) {
    const { clock, events, limiter } = watched(quota)
    await limiter.consume('a', 5)
    await limiter.consume('a', 1)
    clock.advance(60_000)
    await limiter.consume('a', 4)
    expect(events).toEqual(['a 0.8', 'a 1', 'a 0.8'])
  }
  const bucket = watched(perMinute(10))
  await bucket.limiter.consume('a', 10)
  for (let i = 0; i < 9; i++) {
    bucket.clock.advance(6_000)
    await bucket.limiter.consume('a')
  }
  expect(bucket.events).toEqual(['a 0.8', 'a 1'])
  bucket.clock.advance(6_000)
  await bucket.limiter.consume('a')
  expect(bucket.events).toEqual(['a 0.8', 'a 1', 'a 0.8', 'a 1'])
})

// Reproduces a bug: a key that was blocked for a day was reported twice a minute, 2,002 times.
test('a blocked key uses nothing, so that nothing is reported until the block has ended', async () => {
  for (const block of ['penalty', 'by hand', 'debt'] as const) {
    const blocking = penalty({ after: 5, within: '1m', block: '1d' })
    const { clock, events, limiter } = watched(block === 'debt' ? perMinute(5) : blocking)
    await limiter.consume('a', block === 'by hand' ? 1 : 5)
    if (block === 'by hand') await limiter.block('a', '1d')
    if (block === 'debt') await limiter.charge('a', 5 * 1_440)
    for (let i = 0; i < 1_439; i++) {
      clock.advance(60_000)
      await limiter.consume('a')
    }
    expect(events.splice(0), block).toEqual(block === 'by hand' ? [] : ['a 0.8', 'a 1'])
    clock.advance(120_000)
    await limiter.consume('a', 5)
    expect(events, block).toEqual(['a 0.8', 'a 1'])
  }
})

test('a block that is shorter than the window ends what was reported', async () => {
  const { clock, events, limiter } = watched(penalty({ after: 5, within: '1h', block: '1m' }))
  for (let i = 0; i < 3; i++) {
    await limiter.consume('a', 5)
    clock.advance(60_000)
  }
  expect(events).toEqual(['a 0.8', 'a 1', 'a 0.8', 'a 1', 'a 0.8', 'a 1'])
})

// Reproduces a bug: each limiter reported the keys of a store that they share by the clock of its own default store.
test('policies with a store of their own: once for all limiters that share it, by its clock', async () => {
  const events: string[] = []
  const onThreshold = ({ key, threshold }: ThresholdEvent) => events.push(`${key} ${threshold}`)
  const clock = fakeClock()
  const shared = { ...modelStore(clock), clock }
  const policies = [{ quota: fixedWindow({ limit: 5, window: '1m' }), store: shared }]
  const limiters = [fakeClock(), fakeClock()].map((other) => {
    const store: Store = Object.assign(modelStore(other), { clock: other })
    return httpGuard<string>({ policies, store, onThreshold }, reader)
  })
  for (let window = 0; window < 2; window++) {
    for (let i = 0; i < 6; i++) for (const limiter of limiters) await limiter('10.0.0.1')
    clock.advance(60_000)
  }
  expect(events).toEqual(['10.0.0.1 0.8', '10.0.0.1 1', '10.0.0.1 0.8', '10.0.0.1 1'])
})

test('a refund to below a threshold reports nothing again in the same window', async () => {
  const { events, limiter } = watched(fixedWindow({ limit: 10, window: '1m' }))
  for (let i = 0; i < 5; i++) {
    await limiter.consume('a', 8)
    await limiter.refund('a', 8)
  }
  expect(events).toEqual(['a 0.8'])
  await limiter.peek('a', 10)
  await limiter.refund('a')
  expect(events).toEqual(['a 0.8'])
})

test('each policy of a limiter, and each verb that consumes', async () => {
  const events: ThresholdEvent[] = []
  const onThreshold = (event: ThresholdEvent) => events.push(event)
  const store = modelStore(fakeClock())
  const limiter = rateLimiter({ quotas: { five: perMinute(5), ten: perMinute(10) }, store, onThreshold })
  await limiter.consume('a', 4)
  expect(events).toMatchObject([{ policy: 'five', key: 'a', threshold: 0.8, decision: { remaining: 1, limit: 5 } }])
  await limiter.charge('a', 4)
  const told = () => events.splice(0).map(({ policy, key, threshold }) => `${policy} ${key} ${threshold}`)
  expect(told()).toEqual(['five a 0.8', 'five a 1', 'ten a 0.8'])
  await limiter.consumeUpTo('b', 100)
  expect(told()).toEqual(['five b 0.8', 'five b 1'])
  await (await limiter.reserve('c', { cost: 4 })).cancel()
  await consumeAll([[limiter, 'd', 4]])
  expect(limiter.consumeSync('e', 4).allowed).toBe(true)
  expect(told()).toEqual(['five c 0.8', 'five d 0.8', 'five e 0.8'])
})

test('a flood of keys is remembered within a bound', async () => {
  const { events, limiter } = watched(fixedWindow({ limit: 1, window: '1d' }))
  for (let i = 0; i < 10_000; i++) limiter.consumeSync(`user-${i}`)
  for (let i = 0; i < 10_000; i++) limiter.consumeSync(`user-${i}`)
  expect(events).toHaveLength(20_000)
  limiter.consumeSync('one more')
  await limiter.charge('user-0')
  await limiter.charge('user-9999')
  expect(events.slice(20_000)).toEqual(['one more 0.8', 'one more 1', 'user-0 0.8', 'user-0 1'])
})

test.each<[string, (store: Store) => Store]>([
  ['leases', (store) => withLeases(store, { requests: 4 })],
  ['a deny cache', (store) => withDenyCache(store)],
])('through %s, each threshold once', async (_, wrapped) => {
  const events: string[] = []
  const { take, delete: remove } = modelStore(fakeClock())
  const limiter = rateLimiter({
    quota: fixedWindow({ limit: 10, window: '1d' }),
    store: wrapped({ take, delete: remove }),
    onThreshold: ({ key, threshold }) => events.push(`${key} ${threshold}`),
    deadline: '10s',
  })
  for (let i = 0; i < 15; i++) await limiter.consume('a')
  expect(events).toEqual(['a 0.8', 'a 1'])
})

test('a callback that throws or rejects fails no request, and warns', async () => {
  for (const onThreshold of [
    () => {
      throw new Error('webhook is down')
    },
    () => Promise.reject(new Error('webhook is down')),
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library
    () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('webhook is down')) }),
  ]) {
    const warn = vi.fn()
    const limiter = rateLimiter({ quota: perMinute(2), store: modelStore(fakeClock()), onThreshold, logger: { warn } })
    expect(await limiter.consume('a', 2)).toMatchObject({ allowed: true })
    await new Promise((resolve) => setImmediate(resolve))
    expect(warn.mock.calls).toEqual([[expect.stringContaining('onThreshold threw: webhook is down')]])
  }
})

test('an option that is no function is an error', () => {
  const options = { quota: perMinute(2), store: modelStore(fakeClock()), onThreshold: 'https://example.com' }
  expect(() => rateLimiter(options as never)).toThrow('onThreshold must be a function; got "https://example.com"')
})

const reader = {
  address: (user: string) => user,
  peer: (user: string) => user,
  method: () => 'GET',
  path: () => '/',
  header: () => undefined,
  query: () => undefined,
  identity: () => ({}),
  onClientClosed: () => () => {},
} as RequestReader<string>

test('works for requests, with the key of each policy', async () => {
  const events: string[] = []
  const guard = httpGuard<string>(
    {
      policies: [
        { name: 'user', quota: perMinute(2), key: (user) => user },
        { name: 'all', quota: perMinute(5), key: () => 'everyone' },
        { name: 'trial', quota: perMinute(1), key: (user) => user, mode: 'shadow' },
      ],
      store: modelStore(fakeClock()),
      onThreshold: ({ policy, key, threshold }) => events.push(`${policy} ${key} ${threshold}`),
    },
    reader,
  )
  for (const user of ['10.0.0.1', '10.0.0.1', '10.0.0.2', '10.0.0.2', '10.0.0.2']) await guard(user)
  expect(events.sort()).toEqual([
    'all everyone 0.8',
    'trial (shadow) 10.0.0.1 0.8',
    'trial (shadow) 10.0.0.1 1',
    'trial (shadow) 10.0.0.2 0.8',
    'trial (shadow) 10.0.0.2 1',
    'user 10.0.0.1 0.8',
    'user 10.0.0.1 1',
    'user 10.0.0.2 0.8',
    'user 10.0.0.2 1',
  ])
})
