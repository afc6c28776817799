import { fakeClock } from '@spillway/conformance'
import { perDay, perHour, perMinute, perSecond } from '@spillway/core'
import { rateLimit } from '@spillway/fetch'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { describe, expect, test } from 'vitest'
import { crowd, onAMachine, ours, polled } from './ours.ts'
import { costOf, FairvisorBucket, SharedDict, takeFromBudget } from './published/fairvisor.ts'

const hour = 3_600_000

describe('F1: tokens as text of six decimals', () => {
  test('one an hour, polled every millisecond of two hours: theirs starves, ours admits two', () => {
    const theirs = new FairvisorBucket(1 / 3600, 1)
    theirs.check('alice', 1, 0)
    // The refill of a millisecond rounds to nothing, and every denial writes that. One minute is enough to show it.
    expect(polled(0.001, 60, (s) => theirs.check('alice', 1, s).allowed, 0.001)).toBe(0)
    expect(theirs.dict.get('tb:alice')?.split(':')[0]).toBe('0.000000')
    const { passes } = ours(perHour(1))
    passes(0)
    expect(polled(1, 2 * hour, passes, 1)).toBe(2)
  })

  test('polled every two milliseconds, theirs refills 1.8 times as fast: the first comes after 2,000 seconds', () => {
    const theirs = new FairvisorBucket(1 / 3600, 1)
    theirs.check('alice', 1, 0)
    expect(polled(0.002, 2_001, (s) => theirs.check('alice', 1, s).allowed, 0.002)).toBe(1)
    const { passes } = ours(perHour(1))
    passes(0)
    expect(polled(2, 3_599_998, passes, 2)).toBe(0)
    expect(passes(hour)).toBe(true)
  })

  test('one a day, polled every 10 ms: theirs has gained nothing after ten minutes, ours admits two in two days', () => {
    const theirs = new FairvisorBucket(1 / 86_400, 1)
    theirs.check('alice', 1, 0)
    expect(polled(0.01, 600, (s) => theirs.check('alice', 1, s).allowed, 0.01)).toBe(0)
    expect(theirs.dict.get('tb:alice')?.split(':')[0]).toBe('0.000000')
    const { passes } = ours(perDay(1))
    passes(0)
    // The last minute before each of the two represents its day: a denial changes no state.
    const lastMinute = (day: number): number => polled(10, 24 * day * hour, passes, 24 * day * hour - 60_000)
    expect([lastMinute(1), lastMinute(2)]).toEqual([1, 1])
  })
})

describe('F2: the clock goes back a minute and forth again', () => {
  test('theirs conjures 100 tokens', () => {
    const theirs = new FairvisorBucket(10, 100)
    theirs.check('alice', 100, 1_000)
    expect(theirs.check('alice', 1, 940).allowed).toBe(false)
    expect(crowd(200, () => theirs.check('alice', 1, 1_000).allowed)).toBe(100)
  })

  test('ours conjures none', () => {
    const { limiter, set } = onAMachine(perSecond(10, { burst: 100 }))
    limiter.consumeSync('alice', 100)
    expect(set(-60_000).consumeSync('alice').allowed).toBe(false)
    expect(crowd(200, () => set(0).consumeSync('alice').allowed)).toBe(0)
  })

  test('and where the minute does pass, ours is full after the ten seconds that a full bucket takes', () => {
    const { limiter, set, pass } = onAMachine(perSecond(10, { burst: 100 }))
    limiter.consumeSync('alice', 100)
    set(-60_000).consumeSync('alice')
    expect(pass(9_999).consumeSync('alice', 100)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    expect(pass(1).consumeSync('alice', 100).allowed).toBe(true)
  })
})

test('F3: two workers read the same last token: both take it there, one takes it here', async () => {
  const theirs = new FairvisorBucket(1, 1)
  const workers = [0, 0].map((now) => theirs.checkWhile('alice', 1, now, Promise.resolve()))
  expect((await Promise.all(workers)).map(({ allowed }) => allowed)).toEqual([true, true])
  const store = memoryStore({ clock: fakeClock() })
  const ourWorkers = [0, 1].map(() => rateLimiter({ quota: perSecond(1), store, name: 'api' }).consume('alice'))
  expect((await Promise.all(ourWorkers)).map(({ allowed }) => allowed)).toEqual([true, false])
})

test('F4: twenty units of a bucket of ten are promised for two seconds later, for ever; here they are never', () => {
  const theirs = new FairvisorBucket(5, 10)
  const reported = [0, 2, 4, 6].map((s) => theirs.check('alice', 20, s).retryAfter)
  expect(reported).toEqual([2, 2, 2, 2])
  const { at } = ours(perSecond(5, { burst: 10 }))
  expect(at(0).consumeSync('alice', 20)).toMatchObject({ allowed: false, retryAfterMs: Infinity, remaining: 10 })
})

test.each(['0.000001', '1e308', 'Infinity', '0x10'])(
  'F5: the client names its price, %s: theirs takes it',
  async (price) => {
    const cost = costOf(price, 1)
    expect(cost).not.toBe(1)
    const { limiter } = ours(perSecond(10))
    if (Number.isSafeInteger(cost)) expect(limiter.consumeSync('alice', cost).allowed).toBe(false)
    else await expect(limiter.consume('alice', cost)).rejects.toMatchObject({ code: 'ERR_SPILLWAY_COST' })
    expect((await limiter.peek('alice')).remaining).toBe(10)
  },
)

test('F6: theirs says that one second is enough, whatever is missing; ours says when more is there, and all', () => {
  const theirs = new FairvisorBucket(100, 200)
  expect(theirs.check('alice', 113, 0)).toEqual({ allowed: true, remaining: 87, reset: 1 })
  const { at } = ours(perSecond(100, { burst: 200 }))
  expect(at(0).consumeSync('alice', 113)).toMatchObject({ remaining: 87, replenishAfterMs: 10, resetAfterMs: 1_130 })
  expect(at(5).consumeSync('alice', 87)).toMatchObject({ remaining: 0, replenishAfterMs: 5, resetAfterMs: 1_995 })
})

describe('F7: more keys than there is room for', () => {
  test('theirs drops the one used longest ago: a flood of strangers gives a spent client a full bucket', () => {
    const theirs = new FairvisorBucket(1, 10, new SharedDict(100))
    theirs.check('alice', 10, 0)
    for (let i = 0; i < 100; i++) theirs.check(`stranger ${i}`, 1, 0)
    expect(theirs.check('alice', 10, 0).allowed).toBe(true)
  })

  test('ours forgets those closest to full: the spent client stays spent', async () => {
    const store = memoryStore({ clock: fakeClock(), maxKeys: 100 })
    const limiter = rateLimiter({ quota: perMinute(10), store })
    await limiter.consume('alice', 10)
    for (let i = 0; i < 1_000; i++) await limiter.consume(`stranger ${i}`)
    expect(await limiter.peek('alice')).toMatchObject({ allowed: false, remaining: 0 })
    expect(store.size).toBe(100)
    expect(store.evictions).toBeGreaterThan(0)
  })
})

describe('F8: a minute and a day', () => {
  test('theirs refunds an excess over the write of another caller: ten units are used that no caller had', async () => {
    const dict = new SharedDict()
    expect(await takeFromBudget(dict, 10, 9)).toBe(true)
    const raced = await Promise.all([takeFromBudget(dict, 10, 2), takeFromBudget(dict, 10, 1)])
    expect([raced, dict.get('tpd')]).toEqual([[false, false], '11'])
    expect(await takeFromBudget(dict, 10, 1)).toBe(false)
  })

  test('ours asks both at once, and takes from both or neither', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const limiter = rateLimiter({ quotas: { minute: perMinute(20), day: perDay(10) }, store })
    await limiter.consume('alice', 9)
    const raced = await Promise.all([limiter.consume('alice', 2), limiter.consume('alice', 1)])
    expect(raced.map(({ allowed, violated }) => [allowed, violated])).toEqual([
      [false, ['day']],
      [true, []],
    ])
    const { policies } = await limiter.peek('alice')
    expect(policies?.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['minute', 10],
      ['day', 0],
    ])
  })
})

test('F9: ten a second with a burst of one is denied there, and paces here', () => {
  expect(() => new FairvisorBucket(10, 1)).toThrow('burst must be >= tokens_per_second')
  const { passes } = ours(perSecond(10, { burst: 1 }))
  expect([0, 1, 99.999, 100].map((ms) => passes(ms))).toEqual([true, false, false, true])
})

// The document's "Response headers": a policy per-org-rps of 200 a second, of which 113 have been used.
test('its four headers, and its reason for a denial', async () => {
  const limit = rateLimit({
    policies: [{ name: 'per-org-rps', quota: perSecond(200), key: 'header:x-org', cost: 'header:x-request-weight' }],
    store: memoryStore({ clock: fakeClock() }),
    headers: ['draft-6', 'draft-11'],
    onDenied: () => ({ headers: [['X-Fairvisor-Reason', 'token_bucket_exceeded']] }),
  })
  const handler = limit(() => new Response('ok'))
  const ask = async (weight: number): Promise<Record<string, string | null>> => {
    const response = await handler(
      new Request('http://a/', { headers: { 'x-org': 'a', 'x-request-weight': `${weight}` } }),
    )
    const names = [
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
      'ratelimit',
      'retry-after',
      'x-fairvisor-reason',
    ]
    return Object.fromEntries([
      ['status', `${response.status}`],
      ...names.map((name) => [name, response.headers.get(name)]),
    ])
  }
  expect(await ask(113)).toEqual({
    status: '200',
    'ratelimit-limit': '200',
    'ratelimit-remaining': '87',
    'ratelimit-reset': '1',
    ratelimit: '"per-org-rps";r=87;t=1',
    'retry-after': null,
    'x-fairvisor-reason': null,
  })
  expect(await ask(100)).toMatchObject({
    status: '429',
    'ratelimit-limit': '200',
    'ratelimit-remaining': '87',
    'retry-after': '1',
    'x-fairvisor-reason': 'token_bucket_exceeded',
  })
})
