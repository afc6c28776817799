import { fakeClock, modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import {
  type Duration,
  fixedWindow,
  leakyBucket,
  penalty,
  perMinute,
  perSecond,
  type Quota,
  rateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '../src/index.ts'
import { HOUR, remote } from './blocking.ts'

describe('a limiter that can block', () => {
  test.each<[string, Quota]>([
    ['a token bucket', perMinute(5)],
    ['a bucket of parts of a microsecond', tokenBucket({ limit: 7, per: '1s', burst: 5 })],
    ['a fixed window', fixedWindow({ limit: 5, window: '1m' })],
    ['a sliding window', slidingWindow({ limit: 5, window: '1m' })],
    ['a sliding log', slidingLog({ limit: 5, window: '1m' })],
    ['a queue', leakyBucket({ limit: 5, per: '1m', queue: 4 })],
    ['a warm-up', warmingUp({ limit: 5, per: '1m', warmUpPeriod: '1m' })],
    ['a penalty', penalty({ after: 5, within: '1m', block: '1m' })],
  ])('denies a blocked key for exactly that long, and consumes none of %s', async (_, quota) => {
    const clock = fakeClock()
    const limiter = rateLimiter({ name: 'api', quota, blocks: true, store: modelStore(clock) })
    const fresh = await limiter.peek('bob')
    await limiter.block('alice', '1h')
    const denied = await limiter.consume('alice')
    expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: HOUR, resetAfterMs: HOUR })
    expect(denied.violated).toContain('api (blocked)')
    expect(await limiter.consume('bob')).toMatchObject({ allowed: true, policy: 'api' })
    clock.advanceMicros(HOUR * 1_000 - 1)
    expect((await limiter.peek('alice')).retryAfterMs).toBe(0.001)
    clock.advanceMicros(1)
    expect(await limiter.peek('alice')).toEqual(fresh)
  })

  test('decides as one without the option while no key is blocked, by every verb', async () => {
    const plain = rateLimiter({ quota: perMinute(5), store: modelStore(() => START) })
    const blocking = rateLimiter({ quota: perMinute(5), blocks: true, store: modelStore(() => START) })
    for (const verb of ['consume', 'peek', 'charge', 'refund', 'consumeUpTo'] as const) {
      expect([verb, await blocking[verb]('a', 2)]).toEqual([verb, await plain[verb]('a', 2)])
    }
    expect(blocking.policies).toEqual(plain.policies)
    expect(await blocking.inspect('a')).toEqual(await plain.inspect('a'))
    const [one, other] = await Promise.all([plain, blocking].map((limiter) => limiter.reserve('b', { cost: 5 })))
    expect([other?.allowed, other?.remaining, other?.policies]).toEqual([one?.allowed, 0, undefined])
    expect(one?.remaining).toBe(0)
    await Promise.all([one?.commit(1), other?.commit(1)])
    expect(await blocking.peek('b')).toEqual(await plain.peek('b'))
  })

  // It was denied for ever, by a block list that has as many units as a window counts.
  test('denies no request for its cost, and a blocked key for its block', async () => {
    const quota = perSecond(2 ** 52)
    const plain = rateLimiter({ quota, store: modelStore(() => START) })
    const blocking = rateLimiter({ quota, blocks: true, store: modelStore(() => START) })
    expect(await blocking.consume('a', 2 ** 51)).toEqual(await plain.consume('a', 2 ** 51))
    await blocking.block('b', '1h')
    expect(await blocking.consume('b', 2 ** 51)).toMatchObject({ allowed: false, retryAfterMs: HOUR })
  })

  test('writes nothing about a key that is not blocked, and denies by every verb that consumes', async () => {
    const { store, sent } = remote()
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store, onStoreError: 'throw' })
    await limiter.consume('a', 2)
    expect(sent.map((ops) => ops.map(({ policy }) => policy))).toEqual([['default', 'default (blocked)']])
    expect(await store.delete([{ policy: 'default (blocked)', key: 'a' }])).toBe(0)
    await limiter.block('a', '1h')
    expect(await limiter.consumeUpTo('a', 3)).toMatchObject({ allowed: false, consumed: 0, retryAfterMs: HOUR })
    expect(await limiter.reserve('a')).toMatchObject({ allowed: false, retryAfterMs: HOUR })
    await expect(limiter.wait('a', { maxWait: '1s' })).rejects.toThrow()
    expect((await limiter.charge('a', 1)).allowed).toBe(true)
    await limiter.unblock('a')
    expect((await limiter.peek('a')).remaining).toBe(2)
  })

  test('sends nothing more without the option', async () => {
    const { store, sent } = remote()
    await rateLimiter({ quota: perMinute(5), store }).consume('a')
    expect(sent.map((ops) => ops.length)).toEqual([1])
  })

  test('has one block for several quotas, whose costs do not name it', async () => {
    const quotas = { requests: perMinute(5), tokens: perMinute(1_000) }
    const limiter = rateLimiter({ quotas, blocks: true, store: modelStore(() => START) })
    expect((await limiter.consume('a', { tokens: 40 })).policies).toHaveLength(2)
    await limiter.block('a', '1h')
    expect((await limiter.consume('a', { tokens: 40, requests: 0 })).violated).toEqual(['requests (blocked)'])
    expect((await limiter.refund('a', { tokens: 40 })).remaining).toBe(1_000)
    await expect(limiter.consume('a', { 'requests (blocked)': 1 })).rejects.toThrow('is no policy of this limiter')
    expect(await limiter.reset('a')).toBe(true)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('is not drawn upon by spilling over: a blocked key is denied whatever is left', async () => {
    const quotas = { plan: perMinute(1), extra: perMinute(100) }
    const store = modelStore(() => START)
    const limiter = rateLimiter({ quotas, spill: { plan: 'extra' }, blocks: true, store })
    await limiter.consume('a')
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, policy: 'extra', spilled: ['plan'] })
    await limiter.block('a', '1h')
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, policy: 'plan (blocked)', retryAfterMs: HOUR })
    expect((await limiter.inspect('a')).map(({ decision }) => decision.remaining)).toEqual([0, 99])
  })

  test('lasts as long as before where the clock has stepped back, also when its requests only look', async () => {
    const clock = fakeClock()
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store: modelStore(clock) })
    await limiter.block('a', '1m')
    clock.advanceMicros(-20_000_000)
    expect((await limiter.consume('a')).retryAfterMs).toBe(60_000)
    clock.advanceMicros(59_999_999)
    expect((await limiter.consume('a')).retryAfterMs).toBe(0.001)
    clock.advanceMicros(1)
    expect((await limiter.consume('a')).allowed).toBe(true)
  })

  test('crosses no threshold by a block', async () => {
    const events: unknown[] = []
    const onThreshold = (event: unknown): void => void events.push(event)
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, onThreshold, store: modelStore(() => START) })
    await limiter.block('a', '1h')
    await limiter.consume('a')
    expect(events).toEqual([])
  })

  test.each([
    ['0m', 'must be a positive duration'],
    [0, 'must be a positive duration'],
    [-1, 'must be a positive duration'],
    [Number.NaN, 'must be a positive duration'],
    ['1y', 'a number with ms, s, m, h or d such as \'10s\'; got "1y"'],
    [Number.POSITIVE_INFINITY, 'must be a positive duration, at most 95 years: '],
    ['40000d', 'must be a positive duration, at most 95 years: '],
  ])('rejects a block for %o, and blocks nothing', async (duration, message) => {
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store: modelStore(() => START) })
    await expect(limiter.block('a', duration as Duration)).rejects.toThrow(message)
    expect((await limiter.peek('a')).allowed).toBe(true)
  })

  test('blocks for 95 years, and keys of 15 kB apart', async () => {
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store: modelStore(() => START) })
    const [one, other] = ['a', 'b'].map((end) => 'k'.repeat(15_000) + end) as [string, string]
    await limiter.block(one, '34722d')
    expect([(await limiter.peek(one)).retryAfterMs, (await limiter.peek(other)).allowed]).toEqual([
      34_722 * 24 * HOUR,
      true,
    ])
  })

  test('cannot block without the option, and says how to build it', async () => {
    const limiter = rateLimiter({ quota: perMinute(5), store: modelStore(() => START) })
    await expect(limiter.block('a', '1h')).rejects.toThrow(
      'does not look for blocked keys. Build it with blocks: true.',
    )
    await expect(limiter.unblock('a')).rejects.toThrow('Build it with blocks: true.')
    expect(() => rateLimiter({ quota: perMinute(5), blocks: 'yes', store: modelStore(() => START) } as never)).toThrow(
      'blocks must be true or false; got "yes".',
    )
  })
})
