import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { unhandledRejections } from '../../../test/unhandled.ts'
import { type DecisionEvent, httpGuard, type PolicyOptions, type RequestReader, settled } from '../src/http/index.ts'
import { perMinute, rateLimiter, type Store } from '../src/index.ts'

const unhandled = unhandledRejections()

// What a request took is corrected: of each policy by itself, of those that only watch too, whatever else goes wrong.

interface FakeRequest {
  readonly path?: string
}

interface FakeResponse {
  readonly tokens: number
}

const reader: RequestReader<FakeRequest> = {
  address: () => 'ann',
  peer: () => 'ann',
  method: () => 'GET',
  path: ({ path = '/' }) => path,
  header: () => undefined,
  query: () => undefined,
  identity: (request) => request,
  onClientClosed: () => () => {},
}

type Policies = readonly PolicyOptions<FakeRequest, FakeResponse>[]

function setUp(policies: Policies, common: { refundIf?: (status: number) => boolean } = {}) {
  const store = modelStore(fakeClock())
  const events: DecisionEvent<FakeRequest>[] = []
  const onDecision = (event: DecisionEvent<FakeRequest>) => void events.push(event)
  const guard = httpGuard<FakeRequest, FakeResponse>({ policies, store, onDecision, ...common }, reader)
  const left = async (name: string) => (await rateLimiter({ name, quota: perMinute(100), store }).peek('ann')).remaining
  return { guard, left, events, store }
}

const tokens = { name: 'tokens', quota: perMinute(100), cost: 50 } as const
const requests = { name: 'requests', quota: perMinute(100), cost: 10 } as const
const byResponse = { settle: (response: FakeResponse) => response.tokens }

let warn: ReturnType<typeof vi.spyOn>
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('of several policies', () => {
  test('each is corrected once by the app, in any order', async () => {
    const { guard, left } = setUp([tokens, requests])
    const { decision } = await guard({})
    await decision?.settle(5, 'tokens')
    await decision?.settle(1, 'requests')
    await decision?.settle(0, 'tokens')
    expect([await left('tokens'), await left('requests')]).toEqual([95, 99])
  })

  test('the first correction counts if a second would charge more', async () => {
    const { guard, left } = setUp([tokens, requests])
    const { decision, after } = await guard({})
    await decision?.settle(60, 'tokens')
    await decision?.settle(70, 'tokens')
    await after?.(200, { tokens: 0 })
    expect([await left('tokens'), await left('requests')]).toEqual([40, 90])
  })

  test('all are refunded if the request was never answered, and not corrected after that', async () => {
    const { guard, left } = setUp([tokens, requests, { ...requests, name: 'watching', mode: 'shadow' }])
    const { decision, discard } = await guard({})
    discard?.()
    await decision?.settle(60, 'tokens')
    expect([await left('tokens'), await left('requests'), await left('watching (shadow)')]).toEqual([100, 100, 100])
  })

  test('one that counts certain statuses refunds the others, but not a request without a response', async () => {
    const { guard, left } = setUp([{ ...tokens, cost: 10, countIf: (status) => status >= 400 }], {
      // Also true of no status at all.
      refundIf: (status) => !(status < 500),
    })
    const after = async (status: number | undefined) => {
      await (await guard({})).after?.(status, { tokens: 0 })
      return left('tokens')
    }
    expect([await after(200), await after(401), await after(undefined), await after(500)]).toEqual([100, 90, 80, 80])
  })

  test('one must be named, or the correction is an error that lists them', async () => {
    const { guard } = setUp([tokens, requests])
    const { decision } = await guard({})
    await expect(decision?.settle(1)).rejects.toMatchObject({
      code: 'ERR_SPILLWAY_OPTION',
      message: expect.stringContaining('must name one of "tokens", "requests"; got undefined'),
    })
  })

  test('one by the app, and the others by the response', async () => {
    const settle = vi.fn<() => number>(() => Number.NaN)
    const { guard, left } = setUp([
      { ...tokens, settle },
      { ...requests, ...byResponse },
    ])
    const { decision, after } = await guard({})
    await decision?.settle(30, 'tokens')
    await after?.(200, { tokens: 3 })
    expect(settle).not.toHaveBeenCalled()
    expect([await left('tokens'), await left('requests')]).toEqual([70, 97])
  })

  test('one by the app, and the others by the status', async () => {
    const { guard, left } = setUp([tokens, requests], { refundIf: (status) => status >= 500 })
    const { decision, after } = await guard({})
    await decision?.settle(30, 'tokens')
    await after?.(500, { tokens: 0 })
    expect([await left('tokens'), await left('requests')]).toEqual([70, 100])
  })

  test('the response is asked for those alone that have counted the request', async () => {
    const settle = vi.fn<() => number>(() => Number.NaN)
    const { guard, left } = setUp([
      { ...tokens, ...byResponse },
      { ...requests, match: { path: '/other' }, settle },
    ])
    await (await guard({})).after?.(200, { tokens: 5 })
    expect([settle.mock.calls.length, await left('tokens')]).toEqual([0, 95])
  })

  test('one that makes no sense of the response leaves the others right', async () => {
    const { guard, left } = setUp([
      { ...requests, settle: () => Number.NaN },
      { ...tokens, ...byResponse },
    ])
    await (await guard({})).after?.(200, { tokens: 5 })
    expect([await left('requests'), await left('tokens')]).toEqual([90, 95])
    expect(warn).toHaveBeenCalledWith(
      expect.stringMatching(/the cost of a request could not be corrected: .*got NaN.*#warn_spillway_settle/s),
    )
  })
})

describe('a policy that only watches', () => {
  const watching = { ...tokens, mode: 'shadow' } as const
  const name = 'tokens (shadow)'

  test('is corrected by the response, or it would report denials that never happen', async () => {
    const { guard, events } = setUp([requests, { ...watching, ...byResponse }])
    for (let i = 0; i < 4; i++) await (await guard({})).after?.(200, { tokens: 5 })
    const reported = events.filter(({ mode }) => mode === 'shadow').map(({ decision }) => decision.remaining)
    expect(reported).toEqual([50, 45, 40, 35])
  })

  test('is refunded by the status, also if no policy is enforced', async () => {
    const { guard, left } = setUp([watching], { refundIf: (status) => status >= 500 })
    const { decision, after } = await guard({})
    expect([decision, await left(name)]).toEqual([undefined, 50])
    await after?.(500, { tokens: 0 })
    expect(await left(name)).toBe(100)
  })

  // A handler is not to fail because its policy is tried out first.
  test('is corrected by the app under its own name only', async () => {
    const { guard, left } = setUp([requests, watching])
    const { decision } = await guard({})
    await decision?.settle(5, 'tokens')
    await decision?.settle(1)
    expect([await left(name), await left('requests')]).toEqual([95, 99])
    await expect(decision?.settle(1, 'others')).rejects.toThrow('one of "requests", "tokens (shadow)"; got "others"')
  })

  test('whose store fails leaves the others right', async () => {
    const far = faultyStore(modelStore(fakeClock()))
    far.break('failing')
    const { guard, left } = setUp([
      { ...tokens, ...byResponse },
      { ...requests, mode: 'shadow', store: far, ...byResponse },
    ])
    await (await guard({})).after?.(200, { tokens: 5 })
    expect(await left('tokens')).toBe(95)
  })
})

test('a request under way keeps its policies when others are put in force', async () => {
  const far: Store = faultyStore(modelStore(fakeClock()))
  const limiter = rateLimiter({ name: 'tokens', quota: perMinute(100), store: far })
  const policy = { ...tokens, store: far, problem: 'abnormal-usage-detected', ...byResponse } as const
  const { guard } = setUp([policy])
  const first = guard({})
  guard.replace([requests])
  await (await first).after?.(200, { tokens: 5 })
  expect((await limiter.peek('ann')).remaining).toBe(95)

  guard.replace([policy])
  await limiter.consume('ann', 95)
  const denied = guard({})
  guard.replace([requests])
  expect((await denied).denial?.body).toContain('#abnormal-usage-detected')
})

test('a correction without a caller that waits does not end the process', async () => {
  const { guard } = setUp([
    { ...tokens, cost: () => Promise.reject(new Error('no cost')) },
    { ...requests, key: () => 5 as never },
  ])
  expect(() => guard({})).toThrow('key must return a string')
  const deaf = httpGuard<FakeRequest>(
    { ...requests, store: modelStore(fakeClock()), onDecision: async () => Promise.reject(new Error('no ear')) },
    reader,
  )
  await deaf({})
  await new Promise((resolve) => setImmediate(resolve))
  expect(unhandled).toEqual([])
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('onDecision threw: no ear'))
})

describe('settled()', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  // The process never ended, since the store's client was not closed.
  test('waits 10 s for promises that never settle, and warns', async () => {
    const never = () => new Promise<never>(() => {})
    const { guard, left } = setUp([
      { ...tokens, settle: never },
      { ...requests, countIf: never },
    ])
    void (await guard({})).after?.(200, { tokens: 5 })
    let isOver = false
    const over = settled().then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(9_999)
    expect([isOver, warn.mock.calls]).toEqual([false, []])
    await vi.advanceTimersByTimeAsync(2)
    await over
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('a promise of settle, refundIf or countIf has not settled for 10 s.'),
    )
    expect([await left('tokens'), await left('requests')]).toEqual([50, 90])
    const again = settled()
    await vi.advanceTimersByTimeAsync(1)
    await again
  })
})
