import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { breaker } from '../src/breaker.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import { perMinute, QuotaError, rateLimiter, StoreError } from '../src/index.ts'

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
  test('lets requests pass unless told otherwise, and invents no numbers', async () => {
    const { store, send } = setUp()
    store.break('failing')
    const { decision, headers, refusal } = await send()
    expect({ headers, refusal }).toEqual({ headers: [], refusal: undefined })
    expect(decision).toMatchObject({ allowed: true, degraded: { reason: 'error', action: 'allow' } })
  })

  test('refuses with 503, not 429, where told to deny', async () => {
    const { store, send } = setUp({ onStoreError: 'deny' })
    store.break('failing')
    const { decision, headers, refusal } = await send()
    expect(headers).toEqual([])
    expect(refusal?.status).toBe(503)
    expect(refusal?.body).not.toContain('retry-after-ms')
    expect(JSON.parse(refusal?.body ?? '')).toMatchObject({
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
    expect(second.refusal?.status).toBe(429)
    expect(second.headers).toEqual([['Retry-After', '60']])
  })

  // Row 31 of the peers' bugs: a slow store lets requests through, and a failing one throws, whatever is configured.
  test('is handed to the app where told to throw', async () => {
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
    expect((await send()).refusal?.status).toBe(503)
  })

  test('asks no limiter instead where one policy refuses, and all of them are refused', async () => {
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
    expect([(await send()).refusal?.status, (await send()).refusal?.status]).toEqual([undefined, 429])
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
    expect(verdict).toMatchObject({ decision: { allowed: true, degraded: { reason: 'timeout' } } })
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[policies: string, millis: number, ...deadlines: ({ deadline?: string } | undefined)[]]>([
    ['a policy with a deadline of its own', 30, { deadline: '30ms' }],
    ['a policy without', 20, {}],
    ['several together, by the earliest', 20, { deadline: '30ms' }, {}],
    ['several together, by the earliest, wherever it is', 10, { deadline: '30ms' }, { deadline: '10ms' }],
  ])('is waited for by %s', async (_, millis, ...terms) => {
    const policies = terms.map((each, i) => ({ name: String(i), quota: perMinute(3), ...each }))
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

  test('refuses a deadline that is none', () => {
    expect(() => setUp({ policies: [{ name: 'a', quota: perMinute(3), deadline: 'soon' as never }] })).toThrow(
      'deadline',
    )
  })

  // Row 14 of the peers' bugs: a request that was answered without the store is counted all the same.
  test.each([
    ['keeps what it took for a request that passed', 'allow', 2],
    ['gives back what it took for a request that was refused', 'deny', 3],
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
    const limiter = rateLimiter({ quota: perMinute(3), store, deadline: 5 })
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

describe('the circuit breaker', () => {
  const lost = () => Promise.reject(new Error('connection lost'))
  const well = () => Promise.resolve('well')
  const setUp = () => {
    let now = 0
    const log: string[] = []
    const circuit = breaker({ now: () => now, log: (message) => log.push(message) })
    const outcome = (work: () => Promise<unknown>) =>
      circuit.call(work, 1_000_000).then(String, ({ reason }: StoreError) => reason)
    return {
      log,
      outcome,
      pass: (millis: number) => {
        now += millis
      },
    }
  }

  test('leaves a store alone after five failures in a row, and says so once', async () => {
    const { log, outcome } = setUp()
    const outcomes: string[] = []
    for (let i = 0; i < 7; i++) outcomes.push(await outcome(lost))
    expect(outcomes).toEqual(['error', 'error', 'error', 'error', 'error', 'open', 'open'])
    expect(log).toEqual([expect.stringContaining('asked again in 500 ms: The store failed: connection lost.')])
  })

  test('forgives failures that are not in a row', async () => {
    const { log, outcome } = setUp()
    for (let i = 0; i < 20; i++) expect(await outcome(i % 5 === 4 ? well : lost)).not.toBe('open')
    expect(log).toEqual([])
  })

  test('probes with one call at a time, and opens to all when it succeeds', async () => {
    const { log, outcome, pass } = setUp()
    for (let i = 0; i < 5; i++) await outcome(lost)
    pass(500)
    let answer: (value: string) => void = () => {}
    const probe = outcome(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    expect(await Promise.all([outcome(well), outcome(well)])).toEqual(['open', 'open'])
    answer('back')
    expect(await probe).toBe('back')
    expect(await Promise.all([outcome(well), outcome(well)])).toEqual(['well', 'well'])
    expect(log[1]).toBe('the store answers again')
  })

  test('rests no longer because many calls failed together', async () => {
    const { outcome, pass } = setUp()
    await Promise.all(Array.from({ length: 50 }, () => outcome(lost)))
    pass(500)
    expect(await outcome(well)).toBe('well')
  })

  test('counts a store that throws where it should reject, and probes it anew each time', async () => {
    const { outcome, pass } = setUp()
    const broken = () => {
      throw new Error('connection lost')
    }
    for (let i = 0; i < 5; i++) expect(await outcome(broken)).toBe('error')
    for (const rest of [500, 1_000]) {
      pass(rest)
      expect(await outcome(broken)).toBe('error')
    }
    pass(2_000)
    expect(await outcome(well)).toBe('well')
  })

  test('takes no mistake of the program for a failure of the store', async () => {
    const { outcome } = setUp()
    const mistaken = () => Promise.reject(new QuotaError('ERR_SPILLWAY_KEY', 'keys live apart'))
    for (let i = 0; i < 20; i++) expect(await outcome(mistaken)).toBeUndefined()
    expect(await outcome(well)).toBe('well')
  })

  test('rests longer after each failed probe, up to fifteen seconds', async () => {
    const { outcome, pass } = setUp()
    for (let i = 0; i < 5; i++) await outcome(lost)
    for (const rest of [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]) {
      pass(rest - 1)
      expect(await outcome(lost)).toBe('open')
      pass(1)
      expect(await outcome(lost)).toBe('error')
    }
  })
})
