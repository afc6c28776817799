import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import { consumeAll, leakyBucket, perMinute, rateLimiter, StoreError } from '../src/index.ts'

const logged: string[] = []

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(console, 'warn').mockImplementation((message: string) => logged.push(message))
})

afterEach(() => {
  vi.useRealTimers()
  logged.length = 0
})

const elsewhere = () => rateLimiter({ name: 'elsewhere', quota: perMinute(3), store: modelStore(fakeClock()) })

function setUp(options: Partial<RateLimitOptions<object>> = {}) {
  const inner = modelStore(fakeClock())
  const store = faultyStore(inner)
  const guard = httpGuard(
    { ...(options.policies ? {} : { quota: perMinute(3) }), ...options, store } as RateLimitOptions<object> & {
      store: typeof store
    },
    plainReader,
  )
  const local = rateLimiter({ quota: perMinute(3), store: inner })
  return { store, send: async () => guard({}), left: async () => (await local.peek('203.0.113.7')).remaining }
}

describe('a store that fails', () => {
  // Row 24 of the peers' bugs: a store that is down leaves 5 of 10, reset in 0 s.
  test("is no limit with 'allow', and invents no numbers", async () => {
    const { store, send } = setUp({ onStoreError: 'allow' })
    store.break('failing')
    const { decision, headers, denial } = await send()
    expect({ headers, denial }).toEqual({ headers: [], denial: undefined })
    expect(decision).toMatchObject({ allowed: true, degraded: { reason: 'error', action: 'allow' } })
  })

  test("denies with 503, not 429, with 'deny'", async () => {
    const { store, send } = setUp({ onStoreError: 'deny' })
    store.break('failing')
    const { decision, headers, denial } = await send()
    expect(headers).toEqual([['Retry-After', '1']])
    expect(denial?.status).toBe(503)
    expect(denial?.body).not.toContain('retry-after-ms')
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      'violated-policies': ['default'],
    })
    expect(decision?.degraded).toEqual({ reason: 'error', action: 'deny' })
  })

  test('is stood in for by a limiter of its own', async () => {
    const fallback = rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })
    const { store, send } = setUp({ onStoreError: fallback })
    store.break('failing')
    const [first, second] = [await send(), await send()]
    expect(first.decision).toMatchObject({ allowed: true, degraded: { action: 'fallback' } })
    expect(second.denial?.status).toBe(429)
    expect(second.headers).toEqual([['Retry-After', '60']])
  })

  // Row 31 of the peers' bugs: a slow store lets requests through, and a failing one throws, whatever is configured.
  test("is passed to the app with 'throw'", async () => {
    const { store, send } = setUp({ onStoreError: 'throw' })
    store.break('failing')
    await expect(send()).rejects.toThrow(StoreError)
  })

  test('is dealt with as the strictest policy wants', async () => {
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3) },
        { name: 'b', quota: perMinute(3), onStoreError: 'deny' },
      ],
    })
    store.break('failing')
    expect((await send()).denial?.status).toBe(503)
  })

  test('asks no fallback limiter if one policy denies, and denies all of them', async () => {
    const fallback = elsewhere()
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3), onStoreError: fallback },
        { name: 'b', quota: perMinute(3), onStoreError: 'deny' },
      ],
    })
    store.break('failing')
    expect((await send()).decision?.violated).toEqual(['a', 'b'])
    expect((await fallback.peek('203.0.113.7')).remaining).toBe(3)
  })

  test('is stood in for by several limiters, all or none, also for who has no key', async () => {
    const [fallback, empty] = [elsewhere(), rateLimiter({ quota: perMinute(1), store: modelStore(fakeClock()) })]
    const key = 'header:x-api-key'
    const { store, send } = setUp({
      policies: [
        { name: 'a', quota: perMinute(3), key, onStoreError: fallback },
        { name: 'b', quota: perMinute(3), key, onStoreError: empty },
      ],
    })
    store.break('failing')
    expect([(await send()).denial?.status, (await send()).denial?.status]).toEqual([undefined, 429])
    expect((await fallback.peek('none')).remaining).toBe(2)
  })
})

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

test('onStoreError, replicas and logger are checked when the limiter is made', () => {
  expect(() => setUp({ onStoreError: 'open' as never })).toThrow(
    `onStoreError must be 'local', 'allow', 'deny', 'throw'`,
  )
  expect(() => setUp({ replicas: 0 })).toThrow('replicas must be a whole number, 1 or more; got 0')
  expect(() => setUp({ logger: {} as never })).toThrow('logger must have a method warn(message)')
  const options = { quota: perMinute(3), store: modelStore(fakeClock()) }
  expect(() => rateLimiter({ ...options, onStoreError: 'open' as never })).toThrow('onStoreError must be')
  expect(() => rateLimiter({ ...options, logger: {} as never })).toThrow('logger must have')
})

test('a failing store is reported to the logger of the limiter that asked it', async () => {
  const reported: string[] = []
  const { store, send } = setUp({ logger: { warn: (message) => reported.push(message) } })
  store.break('failing')
  await send()
  await send()
  expect(reported).toEqual([expect.stringContaining('spillway: the store failed: The store failed: connection lost.')])
  expect(logged).toEqual([])
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
