import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type PolicyOptions, type RateLimitOptions, type Verdict } from '../src/http/index.ts'
import { inFlight } from '../src/in-flight.ts'
import { perMinute, rateLimiter } from '../src/index.ts'

// Requests that hold slots, beside the other options of policies.

const KEY = '203.0.113.7'
const rate = { name: 'rate', quota: perMinute(10) } as const
const slots = { name: 'slots', quota: inFlight(2) } as const

let warn: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(async () => {
  await Promise.all(unanswered.splice(0).map((after) => after?.(200, {})))
  await vi.advanceTimersByTimeAsync(120_000)
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** What ends the responses of requests that a test leaves in flight. */
const unanswered: Verdict<object>['after'][] = []

type Policies = readonly PolicyOptions<object, object>[]

function setUp(policies: Policies, common: Partial<RateLimitOptions<object>> = {}) {
  const clock = fakeClock()
  const inner = modelStore(clock)
  const store = faultyStore(inner)
  const { take } = store
  let releases = 0
  store.take = async (ops, ...rest) => {
    releases += ops.filter(({ step }) => step.kernel === 'slots' && step.increment < 0).length
    return take(ops, ...rest)
  }
  const guard = httpGuard<object, object>({ policies, store, ...common } as never, plainReader)
  const leftOf = async (name: string, quota = perMinute(10) as never) =>
    (await rateLimiter({ name, quota, store: inner, logger: { warn: () => {} } }).peek(KEY)).remaining
  const free = (name = 'slots') => leftOf(name, inFlight(2) as never)
  /** Moves the clocks of the store and of the process on. */
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1_000)
      await vi.advanceTimersByTimeAsync(1_000)
    }
  }
  return { store, guard, free, left: () => leftOf('rate'), pass, releases: () => releases }
}

describe('what corrects costs', () => {
  // Reproduces a bug: the slot was released while its request ran, and a warning said that it was lost.
  test('leaves the slots of a request to the end of its response', async () => {
    const { guard, free, left, pass } = setUp([rate, slots])
    const { decision, after } = await guard({})
    await expect(decision?.settle(0, 'slots')).rejects.toThrow(
      'settle(actual, policy) must name one of "rate"; got "slots".',
    )
    // There is no other policy that it could mean.
    await decision?.settle(4)
    await pass(60)
    expect([await free(), await left()]).toEqual([1, 10])
    await after?.(200, {})
    expect([await free(), warn.mock.calls]).toEqual([2, []])
  })

  test('says so where a request has nothing else', async () => {
    const { guard, free } = setUp([slots, { ...slots, name: 'watched', mode: 'shadow' }])
    const { decision, after } = await guard({})
    for (const name of [undefined, 'slots', 'watched']) {
      await expect(decision?.settle(0, name)).rejects.toThrow(
        'settle(actual, policy) must name one of the policies with units',
      )
    }
    expect([await free(), await free('watched (shadow)')]).toEqual([1, 1])
    await after?.(200, {})
    expect([await free(), await free('watched (shadow)')]).toEqual([2, 2])
  })

  test('refunds units and no slots, which are released once', async () => {
    const { guard, free, left, releases } = setUp([rate, slots], { refundIf: [503] })
    const { after } = await guard({})
    await after?.(503, {})
    expect([await free(), await left(), releases()]).toEqual([2, 10, 1])
  })

  test.each(['settle', 'countIf'] as const)('teaches that slots have no %s', (option) => {
    const value = option === 'settle' ? () => 1 : [401]
    expect(() => setUp([{ ...slots, [option]: value }])).toThrow(
      `policy "slots": ${option} corrects units, and inFlight has none: slots are released when the response has ended`,
    )
  })

  test('leaves out the slots of a quota that is chosen by request', async () => {
    const quota = () => slots.quota
    const { guard, free } = setUp([{ ...slots, quota, settle: () => 2, countIf: [401] }])
    const { after } = await guard({})
    await after?.(401, {})
    expect(await free()).toBe(2)
  })
})

describe('a request that fails', () => {
  // Reproduces a bug: those stayed taken until their ttl, and nothing renewed them.
  test('leaves nothing of policies that only watch', async () => {
    const other = modelStore(fakeClock())
    const watching = [slots, { ...rate, name: 'watched' }].map(
      (each) => ({ ...each, mode: 'shadow', store: other }) as const,
    )
    const { guard, store } = setUp([{ ...rate, onStoreError: 'throw' }, ...watching])
    store.break('failing')
    await expect((async () => guard({}))()).rejects.toThrow('The store failed')
    const quotas = { 'slots (shadow)': inFlight(2), 'watched (shadow)': perMinute(10) }
    const { policies } = await rateLimiter({ quotas, store: other, logger: { warn: () => {} } }).peek(KEY)
    expect(policies?.map(({ remaining }) => remaining)).toEqual([2, 10])
  })
})

describe('headers', () => {
  const sent = async (guard: ReturnType<typeof setUp>['guard']) => {
    const { headers, after } = await guard({})
    unanswered.push(after)
    return Object.fromEntries(headers)
  }

  // Reproduces a bug: headers reported that the quota is full again in 0 seconds.
  test('of older forms have no reset of slots', async () => {
    const { guard } = setUp([slots], { headers: ['draft-7', 'draft-6', 'legacy-delta'] })
    const verdicts = [await guard({}), await guard({}), await guard({})]
    const fields = (remaining: number) => [
      ['RateLimit-Policy', '2'],
      ['RateLimit', `limit=2, remaining=${remaining}`],
      ['RateLimit-Limit', '2'],
      ['RateLimit-Remaining', `${remaining}`],
      ['X-RateLimit-Limit', '2'],
      ['X-RateLimit-Remaining', `${remaining}`],
    ]
    expect(verdicts.map(({ headers }) => headers)).toEqual([1, 0, 0].map(fields))
    for (const { after } of verdicts) await after?.(200, {})
  })

  test('of older forms have the reset of a rate that governs', async () => {
    const { guard } = setUp(
      [
        { ...rate, quota: perMinute(2) },
        { ...slots, quota: inFlight(9) },
      ],
      { headers: 'draft-6' },
    )
    expect(await sent(guard)).toMatchObject({ 'RateLimit-Remaining': '1', 'RateLimit-Reset': '30' })
    await sent(guard)
    expect(await sent(guard)).toMatchObject({ 'RateLimit-Reset': '30', 'Retry-After': '30' })
  })
})
