import { perMinute, rateLimiter, StoreError } from '@spillway/core'
import { describe, expect, test } from 'vitest'
import { fakeClock, faultyStore, modelStore } from '../src/index.ts'

const setUp = () => {
  const clock = fakeClock()
  const store = faultyStore(modelStore(clock))
  return { clock, store, limiter: rateLimiter({ quota: perMinute(10), store, onStoreError: 'throw' }) }
}

describe('a faulty store', () => {
  test('flaps: every other call fails', async () => {
    const { store, limiter } = setUp()
    store.break('flapping')
    const outcomes: string[] = []
    for (let i = 0; i < 4; i++)
      outcomes.push(
        await limiter.consume('a').then(
          () => 'answer',
          () => 'failure',
        ),
      )
    expect(outcomes).toEqual(['failure', 'answer', 'failure', 'answer'])
    store.break('none')
    expect((await limiter.peek('a')).remaining).toBe(8)
  })

  test('fails for half of the keys, always the same', async () => {
    const { store, limiter } = setUp()
    store.break('partial')
    await expect(limiter.consume('a')).rejects.toThrow(StoreError)
    expect((await limiter.consume('b')).allowed).toBe(true)
    await expect(limiter.consume('a')).rejects.toThrow(StoreError)
  })

  test.each(['hanging', 'Failing', '', undefined])(
    'rejects the unknown fault %j, and keeps the one before',
    async (fault) => {
      const { store, limiter } = setUp()
      store.break('failing')
      expect(() => store.break(fault as never)).toThrow(
        expect.objectContaining({
          name: 'QuotaError',
          code: 'ERR_SPILLWAY_OPTION',
          message: expect.stringMatching(
            /^the fault of a faultyStore must be one of 'none', 'failing', 'flapping', 'partial', 'frozen', 'slow', 'lying'; got /,
          ),
        }),
      )
      await expect(limiter.consume('a')).rejects.toThrow(StoreError)
    },
  )

  test('has clock skew: no units are added, and no client is blocked for longer than a bucket needs to refill', async () => {
    const { clock, store, limiter } = setUp()
    await limiter.consume('a', 10)
    store.break('lying')
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 6_000 })
    clock.advance(6_000)
    expect((await limiter.consume('a')).allowed).toBe(true)
    await limiter.reset('a')
    expect((await limiter.consume('a', 10)).allowed).toBe(true)
  })
})
