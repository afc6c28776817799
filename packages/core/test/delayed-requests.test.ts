import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { leakyBucket, perSecond, slidingLog } from '../src/index.ts'
import { setUp } from './fake-request.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('a request that is held back', () => {
  test('is allowed at its turn, one after another', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 2 }) })
    const order: string[] = []
    const send = async (name: string) => order.push(`${name}: ${(await guard({ path: name })).denial?.status ?? 200}`)
    for (const name of ['a', 'b', 'c', 'd']) void send(name)
    await vi.advanceTimersByTimeAsync(99)
    expect(order).toEqual(['a: 200', 'd: 429'])
    await vi.advanceTimersByTimeAsync(1)
    expect(order.slice(2)).toEqual(['b: 200'])
    await vi.advanceTimersByTimeAsync(100)
    expect(order.slice(3)).toEqual(['c: 200'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits no longer than maxWait: what does not fit by then is denied at once', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: perSecond(1), maxWait: '1s' })
    const verdicts = Promise.all([guard({}), guard({}), guard({})])
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await verdicts).map(({ denial }) => denial?.status)).toEqual([undefined, undefined, 429])
  })

  // The default is 0, which was rejected.
  test('waits not at all with the default, a maxWait of 0', async () => {
    const { guard } = setUp({ quota: perSecond(1), maxWait: 0 })
    expect([await guard({}), await guard({})].map(({ denial }) => denial?.status)).toEqual([undefined, 429])
  })

  // Ten in line, five hang up, five come: two used to go ahead at once, because turns were given out again on which
  // later requests still stood.
  test('keeps to the rate when clients in line go away and others come', async () => {
    vi.useFakeTimers({ now: 0 })
    const clock = fakeClock()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 10 }) }, clock)
    const advance = async (millis: number) => {
      clock.advance(millis)
      await vi.advanceTimersByTimeAsync(millis)
    }
    const turns: number[] = []
    const send = async (gone: Set<() => void>) => {
      if ((await guard({ gone })).denial === undefined) turns.push(Date.now())
    }
    await guard({})
    const line = Array.from({ length: 10 }, () => new Set<() => void>())
    for (const gone of line) void send(gone)
    await advance(50)
    for (const gone of line.slice(2, 7)) for (const listener of gone) listener()
    await advance(0)
    for (let i = 0; i < 7; i++) void send(new Set())
    await advance(0)
    for (let i = 0; i < 20; i++) await advance(50)
    expect(turns).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1_000])
  })

  test('leaves the queue when its client goes away, and gives its place to the next', async () => {
    vi.useFakeTimers()
    const { guard } = setUp({ quota: leakyBucket({ limit: 10, per: '1s', queue: 1 }) })
    const gone = new Set<() => void>()
    await guard({})
    const held = guard({ gone })
    expect((await guard({})).denial?.status).toBe(429)
    for (const listener of gone) listener()
    expect((await held).denial).toMatchObject({ status: 499, body: '' })
    expect([gone.size, vi.getTimerCount()]).toEqual([0, 0])
    const next = guard({})
    await vi.advanceTimersByTimeAsync(100)
    expect((await next).denial).toBeUndefined()
  })

  // A window cannot book a turn: maxWait did nothing there, and what did not fit was denied at once.
  test('in a window, waits in line, and leaves it without a trace when its client goes away', async () => {
    vi.useFakeTimers({ now: 0 })
    const clock = fakeClock()
    const { guard } = setUp({ quota: slidingLog({ limit: 1, window: '1s' }), maxWait: '10s' }, clock)
    const served: string[] = []
    const send = async (name: string, gone = new Set<() => void>()) => {
      served.push(`${name} ${(await guard({ gone })).denial?.status ?? 200}@${Date.now()}`)
    }
    const advance = async (millis: number) => {
      clock.advance(millis)
      await vi.advanceTimersByTimeAsync(millis)
    }
    const leaving = [new Set<() => void>(), new Set<() => void>()]
    const all = [send('a'), send('b', leaving[0]), send('c', leaving[1]), send('d')]
    await advance(500)
    // The first in line, which has a timer, and one behind it.
    for (const gone of leaving) for (const listener of gone) listener()
    for (let i = 0; i < 6; i++) await advance(250)
    await Promise.all(all)
    expect(served.toSorted()).toEqual(['a 200@0', 'b 499@500', 'c 499@500', 'd 200@1000'])
    expect([leaving[0]?.size, leaving[1]?.size, vi.getTimerCount()]).toEqual([0, 0, 0])
  })
})
