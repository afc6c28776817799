import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test, vi } from 'vitest'
import type { RateLimitOptions } from '../src/http/index.ts'
import { consumeAll, perMinute, rateLimiter, StoreError } from '../src/index.ts'
import { elsewhere, setUp } from './degraded.ts'

// Rows 15 and 16 of the peers' bugs: a store that never answers hangs the request, whatever is configured.
describe('a store that does not answer', () => {
  test('is waited for as long as the deadline, and no timer is left', async () => {
    const { store, send } = setUp({ deadline: '20ms' })
    store.break('frozen')
    let verdict: unknown
    void send().then((given) => {
      verdict = given
    })
    await vi.advanceTimersByTimeAsync(19)
    expect(verdict).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    expect(verdict).toMatchObject({ decision: { allowed: true, degraded: { reason: 'timeout', action: 'local' } } })
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[policies: string, millis: number, ...deadlines: ({ deadline?: string } | undefined)[]]>([
    ['a policy with a deadline of its own', 30, { deadline: '30ms' }],
    ['a policy without', 20, {}],
    ['several together, by the earliest', 20, { deadline: '30ms' }, {}],
    ['several together, by the earliest, wherever it is', 10, { deadline: '30ms' }, { deadline: '10ms' }],
  ])('is waited for by %s', async (_, millis, ...stepOptions) => {
    const policies = stepOptions.map((each, i) => ({ name: String(i), quota: perMinute(3), ...each }))
    const { store, send } = setUp({ deadline: '20ms', policies } as Partial<RateLimitOptions<object>>)
    store.break('frozen')
    let answered = false
    void send().then(() => {
      answered = true
    })
    await vi.advanceTimersByTimeAsync(millis - 1)
    expect(answered).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(answered).toBe(true)
  })

  test('rejects an invalid deadline', () => {
    expect(() => setUp({ policies: [{ name: 'a', quota: perMinute(3), deadline: 'soon' as never }] })).toThrow(
      'deadline',
    )
  })

  // Row 14 of the peers' bugs: a request that was answered without the store is counted all the same.
  test.each([
    ['keeps what it took for a request that passed', 'allow', 2],
    ['gives back what it took for a request that this process has counted', 'local', 3],
    ['gives back what it took for a request that was denied', 'deny', 3],
    ['gives back what it took for a request that another limiter has counted', elsewhere(), 3],
  ] as const)('%s', async (_, onStoreError, remaining) => {
    const { store, send, left } = setUp({ onStoreError })
    store.break('slow')
    const sent = send()
    await vi.advanceTimersByTimeAsync(50)
    await sent
    store.break('none')
    vi.useRealTimers()
    await store.thaw()
    expect(await left()).toBe(remaining)
  })

  test('fails a limiter with a StoreError that says so', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota: perMinute(3), store, deadline: 5, onStoreError: 'throw' })
    store.break('frozen')
    const failed = expect(limiter.consume('alice')).rejects.toMatchObject({
      reason: 'timeout',
      message: expect.stringContaining('within 5 ms'),
    })
    await vi.advanceTimersByTimeAsync(5)
    await failed
    const reset = expect(limiter.reset('alice')).rejects.toThrow(StoreError)
    await vi.advanceTimersByTimeAsync(5)
    await reset
  })
})

// Units of a call that was reported as failed are refunded when the late answer arrives, whatever the verb.
describe('units that a store takes after the call was reported as failed', () => {
  const verbs = {
    consume: (limiter: ReturnType<typeof rateLimiter>) => limiter.consume('alice'),
    charge: (limiter: ReturnType<typeof rateLimiter>) => limiter.charge('alice'),
    reserve: (limiter: ReturnType<typeof rateLimiter>) => limiter.reserve('alice'),
    wait: (limiter: ReturnType<typeof rateLimiter>) => limiter.wait('alice'),
    consumeAll: (limiter: ReturnType<typeof rateLimiter>) => consumeAll([[limiter, 'alice']]),
  }

  test.each(Object.entries(verbs))('is given back: %s, also with an open circuit', async (_, call) => {
    const inner = modelStore(fakeClock())
    const store = faultyStore(inner)
    const limiter = rateLimiter({ quota: perMinute(20), store, onStoreError: 'throw' })
    const left = async () => (await rateLimiter({ quota: perMinute(20), store: inner }).peek('alice')).remaining
    store.break('slow')
    const calls = Promise.allSettled(Array.from({ length: 20 }, () => call(limiter)))
    await vi.advanceTimersByTimeAsync(60)
    expect((await calls).every(({ status }) => status === 'rejected')).toBe(true)
    store.break('none')
    vi.useRealTimers()
    await store.thaw()
    expect(await left()).toBe(20)
  })
})
