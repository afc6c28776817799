import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { consumeAll, leakyBucket, perMinute, rateLimiter, StoreError } from '../src/index.ts'
import { setUp } from './degraded.ts'

// By default. A store that fails was no limit at all: a flood switched the limiter off.
describe("a store that fails, with 'local'", () => {
  const quota = perMinute(3)

  test('is no reason for more than the quota in this process, whose numbers headers report', async () => {
    const { store, send } = setUp()
    store.break('failing')
    const verdicts = [await send(), await send(), await send(), await send()]
    expect(verdicts.map(({ denial }) => denial?.status)).toEqual([undefined, undefined, undefined, 429])
    expect(verdicts[1]?.headers).toEqual([
      ['RateLimit-Policy', '"default";q=3;w=60'],
      ['RateLimit', '"default";r=1;t=20'],
    ])
    expect(verdicts[3]?.headers.at(-1)).toEqual(['Retry-After', '20'])
    expect(verdicts[3]?.decision).toMatchObject({ remaining: 0, degraded: { reason: 'error', action: 'local' } })
  })

  test('is enforced at once, by a store that is asked and by an open circuit', async () => {
    const { store, send } = setUp({ quota: perMinute(20) })
    store.break('failing')
    const reasons: unknown[] = []
    for (let i = 0; i < 7; i++) reasons.push((await send()).decision?.degraded?.reason)
    expect(reasons).toEqual(['error', 'error', 'error', 'error', 'error', 'open', 'open'])
    expect((await send()).decision?.remaining).toBe(12)
  })

  // quota × processes; with replicas, the quota.
  test('allows the quota in each process, and its share where it knows how many there are', async () => {
    const admitted = async (replicas?: number): Promise<number> => {
      const processes = Array.from({ length: 4 }, () => {
        const store = faultyStore(modelStore(fakeClock()))
        store.break('failing')
        return rateLimiter({ quota: perMinute(40), store, ...(replicas && { replicas }) })
      })
      const decisions = await Promise.all(Array.from({ length: 400 }, (_, i) => processes[i % 4]?.consume('alice')))
      return decisions.filter((decision) => decision?.allowed).length
    }
    expect(await admitted()).toBe(4 * 40)
    expect(await admitted(4)).toBe(40)
  })

  // A store that answers one call of five would otherwise begin anew after each answer.
  test('keeps its counts when the store answers in between, so that a flapping store is no hole', async () => {
    const { store, send } = setUp()
    let allowed = 0
    for (let i = 0; i < 100; i++) {
      store.break(i % 5 === 0 ? 'none' : 'failing')
      if ((await send()).denial === undefined) allowed++
    }
    // What the store allows, and what this process does.
    expect(allowed).toBe(3 + 3)
  })

  test('counts again in the store when it answers, where the local requests took nothing', async () => {
    const { store, send, left } = setUp()
    store.break('failing')
    await send()
    await send()
    store.break('none')
    expect((await send()).decision).toMatchObject({ remaining: 2 })
    expect((await send()).decision?.degraded).toBeUndefined()
    expect(await left()).toBe(1)
  })

  test('refunds the surplus of a request where it was counted', async () => {
    const { store, send, left } = setUp({ refundIf: (status) => status >= 500 })
    store.break('failing')
    const first = await send()
    await first.after?.(503, undefined)
    expect((await send()).decision?.remaining).toBe(2)
    await (await send()).decision?.settle(0)
    expect((await send()).decision?.remaining).toBe(1)
    expect(await left()).toBe(3)
  })

  test('takes all policies of the store or none', async () => {
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota },
        { name: 'b', quota: perMinute(1) },
      ],
    })
    store.break('failing')
    expect([(await send()).denial?.status, (await send()).denial?.status]).toEqual([undefined, 429])
    const { decision } = await send()
    expect(decision?.policies?.map(({ remaining }) => remaining)).toEqual([2, 0])
    expect(decision?.violated).toEqual(['b'])
  })

  test('counts a shadow policy apart, which still denies nothing', async () => {
    const modes: unknown[] = []
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(9) },
        { name: 'b', quota: perMinute(1), mode: 'shadow' },
      ],
      onDecision: ({ decision, mode }) => modes.push([mode, decision.allowed, decision.degraded?.action]),
    })
    store.break('failing')
    await send()
    expect((await send()).denial).toBeUndefined()
    expect(modes.slice(-2)).toContainEqual(['shadow', false, 'local'])
  })

  test('keeps a queue of its own', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota: leakyBucket({ limit: 1, per: '1s', queue: 2 }), store })
    store.break('failing')
    const delays: unknown[] = []
    for (let i = 0; i < 4; i++) {
      const { allowed, delayMs } = await limiter.consume('alice')
      delays.push(allowed && delayMs)
    }
    expect(delays).toEqual([0, 1_000, 2_000, false])
  })

  test('is deleted for a key that is reset, which fails as the store does', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota, store })
    store.break('failing')
    await limiter.consume('alice', 3)
    await expect(limiter.reset('alice')).rejects.toThrow(StoreError)
    expect(await limiter.consume('alice')).toMatchObject({ allowed: true, remaining: 2 })
  })

  test('is state of a key that is reset, also if the store has none', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota, store })
    store.break('failing')
    await limiter.consume('alice')
    store.break('none')
    expect(await limiter.reset('alice')).toBe(true)
    expect(await limiter.reset('alice')).toBe(false)
  })

  test('counts every verb of a limiter in one place', async () => {
    const store = faultyStore(modelStore(fakeClock()))
    const limiter = rateLimiter({ quota: perMinute(10), store })
    store.break('failing')
    await limiter.consume('alice', 4)
    await limiter.refund('alice', 1)
    await limiter.charge('alice', 2)
    const reserved = await limiter.reserve('alice', { cost: 3 })
    expect(await limiter.peek('alice')).toMatchObject({ remaining: 2, degraded: { action: 'local' } })
    await reserved.cancel()
    expect(await limiter.wait('alice')).toMatchObject({ remaining: 4 })
    expect(await consumeAll([[limiter, 'alice', 4]])).toMatchObject({ allowed: true, remaining: 0 })
  })
})
