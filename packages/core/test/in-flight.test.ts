import { fakeClock, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest'
import { acquire, inFlight } from '../src/in-flight.ts'
import { perMinute, rateLimiter, type Slot, type Store, type SyncStore } from '../src/index.ts'
import { rateLimiter as leanLimiter } from '../src/lean.ts'

const clock = fakeClock()
const logger = { warn: vi.fn() }

/** Moves the clocks of the store and of the process on, and lets timers fire. */
async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    clock.advance(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
  }
}

const thrown = (error: Error): never => {
  throw error
}

const held: Slot[] = []

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})
afterEach(async () => {
  await Promise.all(held.splice(0).map((slot) => slot.release()))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
  logger.warn.mockClear()
})

/** A limiter of which no slot stays held after a test. */
function limiterOn(store = modelStore(clock), limit = 2): ReturnType<typeof slotsOf> {
  const limiter = slotsOf(store, limit)
  const { acquire } = limiter
  return Object.assign(limiter, {
    acquire: async (...args: Parameters<typeof acquire>) => {
      const slot = await acquire(...args)
      held.push(slot)
      return slot
    },
  })
}
const slotsOf = (store: SyncStore, limit: number) => rateLimiter({ quota: inFlight(limit), store, logger })
const allowed = async (slots: readonly Promise<{ readonly allowed: boolean }>[]): Promise<readonly boolean[]> =>
  (await Promise.all(slots)).map((each) => each.allowed)

describe('slots in flight', () => {
  it('are as many as the limit, and free again when released, once', async () => {
    const limiter = limiterOn()
    const [first, second, third] = [await limiter.acquire('a'), await limiter.acquire('a'), await limiter.acquire('a')]
    expect([first, second, third].map((each) => [each.allowed, each.remaining, each.retryAfterMs])).toEqual([
      [true, 1, 0],
      [true, 0, 0],
      [false, 0, 0],
    ])
    await Promise.all([first.release(), first.release()])
    await third.release()
    expect(await allowed([limiter.acquire('a'), limiter.acquire('a'), limiter.acquire('b')])).toEqual([
      true,
      false,
      true,
    ])
  })

  it('are released by `await using`', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    {
      await using slot = await limiter.acquire('a')
      expect([slot.allowed, (await limiter.acquire('a')).allowed]).toEqual([true, false])
    }
    expect((await limiter.acquire('a')).allowed).toBe(true)
  })

  it('are held for longer than their ttl, as the process renews them', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    const slot = await limiter.acquire('a')
    await pass(95)
    expect([slot.isLost, (await limiter.acquire('a')).allowed]).toEqual([false, false])
    await slot.release()
    expect((await limiter.acquire('a')).allowed).toBe(true)
  })

  it('are free after their ttl if nothing renews them', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    expect((await limiter.consume('a')).allowed).toBe(true)
    await pass(29)
    expect((await limiter.consume('a')).allowed).toBe(false)
    await pass(1)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  it('are taken with the units of a rate, or none is', async () => {
    const store = modelStore(clock)
    const limiter = rateLimiter({ quotas: { rate: perMinute(3), slots: inFlight(1) }, store, logger })
    await using slot = await limiter.acquire('a')
    expect((await limiter.acquire('a')).violated).toEqual(['slots'])
    expect((await limiter.peek('a', { rate: 1, slots: 0 })).remaining).toBe(2)
    await slot.release()
    expect((await limiter.peek('a')).policies?.map(({ remaining }) => remaining)).toEqual([2, 1])
  })

  it('of a cost are released together', async () => {
    const limiter = limiterOn(modelStore(clock), 5)
    const slot = await limiter.acquire('a', { cost: 4 })
    expect([slot.remaining, (await limiter.acquire('a', { cost: 2 })).allowed]).toEqual([1, false])
    await slot.release()
    expect((await limiter.acquire('a', { cost: 5 })).allowed).toBe(true)
    expect((await limiter.acquire('b', { cost: 6 })).retryAfterMs).toBe(Infinity)
  })

  // A correction named the slots that were held, and renewed them instead.
  it('are as many as a reservation is committed at, until their ttl', async () => {
    const limiter = limiterOn(modelStore(clock), 10)
    const left = async (actual: number, key: string): Promise<number> => {
      const reservation = await limiter.reserve(key, { cost: 3 })
      await reservation.commit(actual)
      return (await limiter.peek(key)).remaining
    }
    expect([await left(5, 'more'), await left(1, 'less'), await left(3, 'same')]).toEqual([5, 9, 7])
  })

  it('of a lean limiter are acquired by a function', async () => {
    const limiter = leanLimiter({ quota: inFlight(1), store: modelStore(clock), logger })
    const slot = await acquire(limiter, 'a')
    expect((await acquire(limiter, 'a')).allowed).toBe(false)
    await slot.release()
    await using again = await acquire(limiter, 'a')
    expect(again.allowed).toBe(true)
  })
})

describe('slots of a process that was stopped', () => {
  it('stay its own if no other process has needed them', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    const slot = await limiter.acquire('a')
    clock.advance(100_000)
    // Its timers have not fired yet.
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 100_000)
    expect([(await limiter.acquire('a')).allowed, slot.isLost]).toEqual([false, false])
    now.mockRestore()
  })

  // The clock of the process had stopped: two more were allowed while two ran.
  it('stay its own after the machine has slept', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    const slot = await limiter.acquire('a')
    clock.advance(3_600_000)
    vi.setSystemTime(Date.now() + 3_600_000)
    expect([(await limiter.acquire('a')).allowed, slot.isLost]).toEqual([false, false])
  })

  it('are lost if another process has them, and release nothing then', async () => {
    const store = modelStore(clock)
    const onLost = vi.fn()
    const limiter = limiterOn(store, 1)
    const [heard, warned] = [await limiter.acquire('a', { onLost }), await limiter.acquire('b')]
    clock.advance(31_000)
    const other = rateLimiter({ name: 'default', quota: inFlight(1), store, logger })
    logger.warn.mockClear()
    expect(await allowed([other.consume('a'), other.consume('b')])).toEqual([true, true])
    await vi.advanceTimersByTimeAsync(10_000)
    expect([heard.isLost, warned.isLost, onLost.mock.calls.length]).toEqual([true, true, 1])
    expect(logger.warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('a request lost its slot while it was running: policy "default"'),
    ])
    await heard.release()
    expect((await other.consume('a')).allowed).toBe(false)
  })
})

describe('slots of a limiter whose quota is replaced', () => {
  // Reproduces a bug: a request of the shorter ttl cut what was held, and two more were allowed while two ran.
  test.each(['1s', '3s', '2m'] as const)('stay held if their ttl becomes %s', async (ttl) => {
    const limiter = limiterOn()
    const slots = [await limiter.acquire('a'), await limiter.acquire('a')]
    limiter.replace({ quota: inFlight(2, { ttl }) })
    for (let i = 0; i < 60; i++) {
      expect((await limiter.acquire('a')).allowed).toBe(false)
      await pass(1)
    }
    expect([slots.map(({ isLost }) => isLost), logger.warn.mock.calls]).toEqual([[false, false], []])
    await slots[0]?.release()
    const next = await limiter.acquire('a')
    await pass(60)
    expect([next.allowed, next.isLost, (await limiter.acquire('a')).allowed]).toEqual([true, false, false])
  })

  test('count against a lower limit, and are free one by one', async () => {
    const limiter = limiterOn()
    const slots = [await limiter.acquire('a'), await limiter.acquire('a')]
    limiter.replace({ quota: inFlight(1) })
    for (const slot of slots) {
      expect(await limiter.acquire('a')).toMatchObject({ allowed: false, remaining: 0, limit: 1 })
      await slot.release()
    }
    expect((await limiter.acquire('a')).allowed).toBe(true)
  })
})

describe('listeners of lost slots', () => {
  // Reproduces a bug: what onLost threw was lost, and what it rejected with ended the process.
  it('do not affect the process if they throw or reject', async () => {
    const limiter = limiterOn()
    for (const onLost of [() => Promise.reject(new Error('rejected')), () => thrown(new Error('thrown'))]) {
      logger.warn.mockClear()
      const slot = await limiter.acquire('a', { onLost })
      await limiter.reset('a')
      await pass(60)
      expect(slot.isLost).toBe(true)
      expect(logger.warn).toHaveBeenCalledWith(expect.stringContaining('onLost threw: '))
    }
  })
})

describe('callers that wait for a slot', () => {
  it('get one in their order, as soon as it is released', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    const order: string[] = []
    const first = await limiter.acquire('a')
    const waits = ['b', 'c', 'd'].map((name) =>
      limiter.acquire('a', { maxWait: '1m' }).then(async (slot) => {
        order.push(`${name} ${slot.allowed}`)
        await slot.release()
      }),
    )
    await pass(1)
    expect(order).toEqual([])
    await first.release()
    await Promise.all(waits)
    expect(order).toEqual(['b true', 'c true', 'd true'])
  })

  it('are denied when their time is over, without a wait', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    await limiter.acquire('a')
    const waiting = limiter.acquire('a', { maxWait: '2500ms' })
    await pass(2)
    const over = vi.fn()
    void waiting.then(over)
    await pass(0)
    expect(over).not.toHaveBeenCalled()
    await pass(1)
    expect(await waiting).toMatchObject({ allowed: false, retryAfterMs: 0, remaining: 0 })
  })

  it('leave the line if they abort, and the next one is served', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    const first = await limiter.acquire('a')
    const client = new AbortController()
    const left = limiter.acquire('a', { maxWait: '1m', signal: client.signal })
    const next = limiter.acquire('a', { maxWait: '1m' })
    await pass(1)
    client.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await first.release()
    expect((await next).allowed).toBe(true)
  })

  // Reproduces a bug: without maxWait, a caller that aborted while the store answered got the slot.
  it('hold no slot if they abort while the store answers', async () => {
    const { takeSync, delete: remove } = modelStore(clock)
    const client = new AbortController()
    const take: Store['take'] = async (...args) => {
      const taken = takeSync(args[0], args[1])
      client.abort(new Error('left'))
      return taken
    }
    const limiter = rateLimiter({ quota: inFlight(1), store: { take, delete: remove }, logger })
    await expect(limiter.acquire('a', { signal: client.signal })).rejects.toThrow('left')
    expect((await limiter.peek('a')).remaining).toBe(1)
  })

  it('get an error of `wait` that names no wait, as none is known', async () => {
    const limiter = limiterOn(modelStore(clock), 1)
    await limiter.acquire('a')
    const waiting = expect(limiter.wait('a', { maxWait: '2s' })).rejects.toThrow(
      'wait rejected: policy "default" could not allow 1 unit within maxWait.',
    )
    await pass(3)
    await waiting
  })

  it('notice within a tenth of a second what another process has released', async () => {
    const store = modelStore(clock)
    const [limiter, other] = [limiterOn(store, 1), rateLimiter({ quota: inFlight(1), store, logger })]
    await other.consume('a')
    const waiting = limiter.acquire('a', { maxWait: '1m' })
    await pass(1)
    await other.refund('a')
    await vi.advanceTimersByTimeAsync(100)
    expect((await waiting).allowed).toBe(true)
  })
})

describe('mistakes', () => {
  it('are reported with what to write instead', async () => {
    const limiter = rateLimiter({ quota: perMinute(1), store: modelStore(clock), logger }) as never as ReturnType<
      typeof limiterOn
    >
    await expect(limiter.acquire('a')).rejects.toThrow(
      'acquire needs a limiter with slots: rateLimiter({ quota: inFlight(10)',
    )
    await expect(limiterOn().acquire('a', { maxwait: 1 } as never)).rejects.toThrow('maxWait')
    await expect(limiterOn().acquire('')).rejects.toThrow('key must be a non-empty string')
    await expect(acquire({} as never, 'a')).rejects.toThrow('acquire takes a limiter')
    expect(() => inFlight(-1)).toThrow('inFlight limit')
    expect(() => inFlight(10_001)).toThrow('at most 10000')
    expect(() => inFlight('10' as never)).toThrow('inFlight limit')
    expect(() => inFlight(10, { tll: '1s' } as never)).toThrow('ttl')
    expect(() => inFlight(10, { ttl: -1 })).toThrow('inFlight ttl')
  })
})
