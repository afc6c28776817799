import { fakeClock, modelStore } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { perMinute, rateLimiter, type Store, StoreError, storeHealth } from '../src/index.ts'

/** A limiter of 100 units whose store fails each call with the error that is set. */
function setUp() {
  const states = modelStore(fakeClock())
  let error: StoreError | undefined
  const store: Store = {
    take: (ops, at) => (error ? Promise.reject(error) : states.take(ops, at)),
    delete: (keys) => states.delete(keys),
  }
  const logger = { warn: () => {} }
  const limiter = rateLimiter({ quota: perMinute(100), store, onStoreError: 'throw', logger })
  return {
    limiter,
    health: () => storeHealth(store),
    fail: (next: StoreError | undefined) => {
      error = next
    },
  }
}

afterEach(() => void vi.useRealTimers())

const turn = () => new Promise((resolve) => setImmediate(resolve))

// A refund that timed out unsent, as in a pool without a free connection, was neither queued nor counted.
describe('a refund that the store did not make', () => {
  test.each([
    ['because its deadline passed before it was sent', new StoreError('late', undefined, { reason: 'timeout' })],
    ['because no connection became free', new StoreError('starved', undefined, { reason: 'pool' })],
  ])('%s, is made when the store answers again', async (_, error) => {
    const { limiter, health, fail } = setUp()
    const reservation = await limiter.reserve('a', { cost: 50 })
    fail(error)
    await expect(reservation.cancel()).rejects.toBe(error)
    expect(health()).toMatchObject({ refundsQueued: 1, refundsDropped: 0 })
    fail(undefined)
    await limiter.peek('b')
    await turn()
    expect((await limiter.peek('a')).remaining).toBe(100)
    expect(health()).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
  })

  test.each([
    ['was sent and failed in the end', Promise.resolve(undefined), 1],
    ['was sent and made late', Promise.resolve([]), 0],
    ['was sent and is not answered', new Promise(() => {}), 0],
  ])('in time, and that %s, is not sent again: %o', async (_, late, dropped) => {
    const { limiter, health, fail } = setUp()
    const reservation = await limiter.reserve('a', { cost: 50 })
    fail(new StoreError('late', undefined, { reason: 'timeout', late }))
    await expect(reservation.cancel()).rejects.toThrow('late')
    await turn()
    expect(health()).toMatchObject({ refundsQueued: 0, refundsDropped: dropped })
    fail(undefined)
    expect((await limiter.peek('a')).remaining).toBe(50)
  })
})

// Its statement had other calls that waited longer for a connection: it was dropped, though nothing had been sent.
test('a refund that a store reports as unsent only after its deadline is made when the store answers again', async () => {
  vi.useFakeTimers()
  const states = modelStore(fakeClock())
  let isStarved = false
  const starved = (): Promise<never> =>
    new Promise((_, reject) => {
      setTimeout(() => reject(new StoreError('starved', undefined, { reason: 'pool' })), 30)
    })
  const store: Store = {
    take: (ops, at) => (isStarved ? starved() : states.take(ops, at)),
    delete: (keys) => states.delete(keys),
  }
  const options = { quota: perMinute(100), store, onStoreError: 'throw', deadline: '20ms' } as const
  const limiter = rateLimiter({ ...options, logger: { warn: () => {} } })
  const reservation = await limiter.reserve('a', { cost: 50 })
  isStarved = true
  const cancelled = expect(reservation.cancel()).rejects.toThrow('did not answer within 20 ms')
  await vi.advanceTimersByTimeAsync(20)
  await cancelled
  expect(storeHealth(store)).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
  await vi.advanceTimersByTimeAsync(10)
  expect(storeHealth(store)).toMatchObject({ refundsQueued: 1, refundsDropped: 0 })
  isStarved = false
  await limiter.peek('b')
  await vi.advanceTimersByTimeAsync(1)
  expect((await limiter.peek('a')).remaining).toBe(100)
})

/** A call that has timed out, and whose store finds out `after` milliseconds later that nothing was sent. */
const unsentAfter = (ms: number): StoreError => {
  const starved = new StoreError('starved', undefined, { reason: 'pool' })
  const late = new Promise((_, reject) => setTimeout(() => reject(starved), ms))
  return new StoreError('timed out', undefined, { reason: 'timeout', late })
}

// A store that coalesces calls reports the timeout of one call before its statement has a connection: its refund was dropped.
test.each([
  ['by the store', unsentAfter],
  [
    'by two layers of a store',
    (ms: number) => new StoreError('', 0, { reason: 'timeout', late: Promise.reject(unsentAfter(ms)) }),
  ],
])(
  'a refund that is reported as timed out %s, and later as unsent, is made when the store answers again',
  async (_, error) => {
    vi.useFakeTimers()
    const { limiter, health, fail } = setUp()
    const reservation = await limiter.reserve('a', { cost: 50 })
    const timedOut = error(30)
    fail(timedOut)
    await expect(reservation.cancel()).rejects.toBe(timedOut)
    expect(health()).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
    await vi.advanceTimersByTimeAsync(30)
    expect(health()).toMatchObject({ refundsQueued: 1, refundsDropped: 0 })
    // The queued refund finds the same again.
    fail(undefined)
    const peeked = limiter.peek('b')
    fail(unsentAfter(30))
    await peeked
    await vi.advanceTimersByTimeAsync(30)
    expect(health()).toMatchObject({ refundsQueued: 1, refundsDropped: 0 })
    fail(undefined)
    await limiter.peek('b')
    await vi.advanceTimersByTimeAsync(1)
    expect((await limiter.peek('a')).remaining).toBe(100)
    expect(health()).toMatchObject({ refundsQueued: 0, refundsDropped: 0 })
  },
)
