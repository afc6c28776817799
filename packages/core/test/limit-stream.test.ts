import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type LimitStreamOptions, limitStream, perHour, perMinute, rateLimiter } from '../src/index.ts'

const setUp = (limit = 100) => {
  const store = faultyStore(modelStore(fakeClock()))
  const limiter = rateLimiter({ quota: perHour(limit), store })
  const left = async () => (await limiter.peek('alice')).remaining
  return { store, limiter, left }
}

async function* words(sizes: readonly number[], closed = () => {}): AsyncGenerator<number> {
  try {
    yield* sizes
  } finally {
    closed()
  }
}

const read = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

const own = (size: number): number => size

describe('a limited stream', () => {
  test('passes all on while there are units, counts them, and refunds the rest of a block', async () => {
    const { store, limiter, left } = setUp()
    const stream = limitStream(words([5, 0, 10, 3]), { limiter, key: 'alice', cost: own })
    expect(await read(stream)).toEqual([5, 0, 10, 3])
    expect([stream.units, stream.denied, await left()]).toEqual([18, undefined, 82])
    // One reservation, one refund and one peek.
    expect(store.calls).toBe(3)
  })

  test('ends at the limit, closes its source, and has the denial', async () => {
    const { limiter, left } = setUp(20)
    let closed = 0
    const source = words([5, 5, 5, 4, 2, 1], () => void closed++)
    const stream = limitStream(source, { limiter, key: 'alice', cost: own, ahead: 8 })
    expect(await read(stream)).toEqual([5, 5, 5, 4])
    expect([stream.units, stream.denied?.allowed, stream.denied?.retryAfterMs]).toEqual([19, false, 180_000])
    expect([closed, await left()]).toEqual([1, 1])
  })

  test('refunds what is not used when the caller leaves, or the source fails', async () => {
    const { limiter, left } = setUp()
    let closed = 0
    for await (const item of limitStream(
      words([7, 7], () => void closed++),
      { limiter, key: 'alice', cost: own },
    )) {
      expect(item).toBe(7)
      break
    }
    expect([closed, await left()]).toEqual([1, 93])
    const failing = async function* () {
      yield 3
      throw new Error('model failed')
    }
    await expect(read(limitStream(failing(), { limiter, key: 'alice', cost: own }))).rejects.toThrow('model failed')
    expect(await left()).toBe(90)
  })

  test('consumes exactly the units of what it passed on, whatever the sizes, blocks and other callers', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 40 }), fc.nat(60), async (items, ahead, others) => {
        const { limiter, left } = setUp()
        if (others > 0) await limiter.consume('alice', others)
        const stream = limitStream(items, { limiter, key: 'alice', cost: own, ahead })
        const passed = await read(stream)
        const total = passed.reduce((sum, each) => sum + each, 0)
        expect([passed, stream.units, await left()]).toEqual([
          items.slice(0, passed.length),
          total,
          100 - others - total,
        ])
        const next = items[passed.length]
        if (next === undefined) expect(stream.denied).toBeUndefined()
        else expect([stream.denied?.allowed, total + next > 100 - others]).toEqual([false, true])
      }),
      { numRuns: 300 },
    )
  })

  test.each<[Partial<LimitStreamOptions<number>>, string]>([
    [{ ahead: 0 }, 'limitStream ahead'],
    [{ cost: 5 as never }, 'cost must be a function; got 5.'],
    [{ aheads: 5 } as never, 'Did you mean "ahead"?'],
  ])('rejects %j', (option, message) => {
    const { limiter } = setUp()
    expect(() => limitStream([1], { limiter, key: 'alice', ...option })).toThrow(message)
  })

  test.each([-1, 1.5, Number.NaN, '5'] as never[])('rejects an item of %s units', async (size) => {
    const { limiter, left } = setUp()
    await expect(read(limitStream([2, size], { limiter, key: 'alice', cost: own }))).rejects.toThrow('whole number')
    expect(await left()).toBe(98)
  })

  test('counts items by default, of every quota', async () => {
    const limiter = rateLimiter({
      quotas: { minute: perMinute(3), hour: perHour(10) },
      store: modelStore(fakeClock()),
    })
    const stream = limitStream('words', { limiter, key: 'alice' })
    expect([await read(stream), stream.denied?.violated]).toEqual([['w', 'o', 'r'], ['minute']])
  })
})

test('an asynchronous cost is awaited', async () => {
  const { limiter } = setUp(10)
  const stream = limitStream(words([4, 4, 4]), { limiter, key: 'alice', cost: async (size) => size })
  expect([await read(stream), stream.units]).toEqual([[4, 4], 8])
})
