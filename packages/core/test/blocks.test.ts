import { fakeClock, modelStore, START } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard } from '../src/http/index.ts'
import {
  type Duration,
  fixedWindow,
  leakyBucket,
  penalty,
  perMinute,
  type Quota,
  rateLimiter,
  type Store,
  StoreError,
  slidingLog,
  slidingWindow,
  type Take,
  tokenBucket,
  warmingUp,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'
import { remoteOnly } from './remote.ts'

const HOUR = 3_600_000

/** The asynchronous methods of a store, which count their calls and the takes in them. */
function remote(store: Store = modelStore(() => START)) {
  const sent: (readonly Take[])[] = []
  const counting: Store = {
    ...remoteOnly(store),
    take: (ops, ...rest) => {
      sent.push(ops)
      return store.take(ops, ...rest)
    },
    takeEach: (batches, ...rest) => Promise.all(batches.map((ops) => store.take(ops, ...rest))),
  }
  return { store: counting, sent }
}

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

describe('a block in front of a store', () => {
  test('with a deny cache: ends in other processes a second after unblock at the latest, and starts at once', async () => {
    let nowMs = 0
    const { store, sent } = remote(modelStore(() => START + nowMs * 1_000))
    const processes = [0, 1].map(() =>
      rateLimiter({
        quota: perMinute(5),
        blocks: true,
        store: withDenyCache(store, { stopwatch: () => nowMs, for: '1s' }),
      }),
    )
    const [one, other] = processes as [(typeof processes)[0], (typeof processes)[0]]
    expect((await other.consume('a')).allowed).toBe(true)
    await one.block('a', '1h')
    expect((await other.consume('a')).retryAfterMs).toBe(HOUR)
    const calls = sent.length
    nowMs = 999
    expect((await other.consume('a')).retryAfterMs).toBe(HOUR - 999)
    expect(sent).toHaveLength(calls)
    await one.unblock('a')
    expect([(await other.consume('a')).allowed, (await one.consume('a')).allowed]).toEqual([false, true])
    nowMs = 1_001
    expect((await other.consume('a')).allowed).toBe(true)
  })

  test('with a deny cache: denies a limited key that is not blocked without a call', async () => {
    let nowMs = 0
    const { store, sent } = remote(modelStore(() => START + nowMs * 1_000))
    const cached = withDenyCache(store, { stopwatch: () => nowMs })
    const limiter = rateLimiter({ quota: perMinute(1), blocks: true, store: cached })
    await limiter.consume('a')
    const denied = await limiter.consume('a')
    nowMs = 500
    const calls = sent.length
    expect((await limiter.consume('a')).retryAfterMs).toBe(denied.retryAfterMs - 500)
    expect(sent).toHaveLength(calls)
    await limiter.block('a', '1h')
    expect((await limiter.consume('a')).retryAfterMs).toBe(HOUR)
  })

  test('with leases: holds at once, since a limiter that can block leases nothing', async () => {
    const store = modelStore(() => START)
    const quota = perMinute(6_000)
    const leasing = withLeases(remote(store).store, { requests: 100, stopwatch: () => 0 })
    const [limiter, other] = [leasing, store].map((each) => rateLimiter({ quota, blocks: true, store: each }))
    for (let i = 0; i < 20; i++) await limiter?.consume('a')
    expect((await other?.peek('a'))?.remaining).toBe(5_980)
    await other?.block('a', '1h')
    expect((await limiter?.consume('a'))?.allowed).toBe(false)
    await leasing.release()
  })

  test('with hashed keys: blocks them, and lists their digests with their blocks', async () => {
    const store = withHashedKeys(
      modelStore(() => START),
      (key) => `hash of ${key.length}`,
    )
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store })
    await limiter.consume('alice')
    await limiter.block('alice', '1h')
    expect((await limiter.consume('alice')).allowed).toBe(false)
    expect((await limiter.list()).keys).toMatchObject([{ isDigest: true, blockedMs: undefined }])
    expect((await limiter.list({ blocked: true })).keys).toMatchObject([{ isDigest: true, blockedMs: HOUR }])
  })

  test('that fails: holds in this process, and no other policy of its denies because of it', async () => {
    const down = () => Promise.reject(new StoreError('error', 'down'))
    const failing: Store = { take: down, delete: down }
    const limiter = rateLimiter({ quota: perMinute(5), blocks: true, store: failing })
    await expect(limiter.block('a', '1h')).rejects.toThrow(StoreError)
    expect(await limiter.consume('a')).toMatchObject({
      allowed: false,
      policy: 'default (blocked)',
      degraded: { action: 'local' },
    })
    expect(await limiter.consume('b')).toMatchObject({ allowed: true, policy: 'default', remaining: 4 })
    const closed = rateLimiter({ name: 'c', quota: perMinute(5), blocks: true, store: failing, onStoreError: 'deny' })
    expect(await closed.consume('a')).toMatchObject({ allowed: false, violated: ['c'], limit: 5 })
    const open = rateLimiter({ name: 'o', quota: perMinute(5), blocks: true, store: failing, onStoreError: 'allow' })
    expect(await open.consume('a')).toMatchObject({ allowed: true, policy: 'o', limit: 5 })
    const fallback = rateLimiter({ quota: perMinute(2), store: modelStore(() => START) })
    const asking = rateLimiter({ name: 'f', quota: perMinute(5), blocks: true, store: failing, onStoreError: fallback })
    expect(await asking.consume('a')).toMatchObject({ allowed: true, policy: 'f', remaining: 1 })
  })

  test('shared by several processes that each have a part of the quota: the local block is whole', async () => {
    const down = () => Promise.reject(new StoreError('error', 'down'))
    const limiter = rateLimiter({
      quota: perMinute(50),
      blocks: true,
      replicas: 5,
      store: { take: down, delete: down },
    })
    await expect(limiter.block('a', '1h')).rejects.toThrow(StoreError)
    expect((await limiter.consume('a')).allowed).toBe(false)
    expect((await limiter.consume('b')).remaining).toBe(9)
  })
})

describe('blocked keys', () => {
  test('are listed with their use and their rest, and are reported by inspect', async () => {
    const limiter = rateLimiter({ quota: perMinute(10), blocks: true, store: modelStore(() => START) })
    for (const [key, units] of [
      ['a', 7],
      ['b', 3],
      ['c', 1],
    ] as const)
      await limiter.consume(key, units)
    await limiter.block('b', '1h')
    await limiter.block('unused', '2h')
    const rows = async (options: object) =>
      (await limiter.list(options)).keys.map(({ key, blockedMs, decision }) => [key, blockedMs, decision.remaining])
    expect(await rows({})).toEqual([
      ['a', 0, 3],
      ['b', HOUR, 7],
      ['c', 0, 9],
    ])
    expect(await rows({ blocked: true })).toEqual([
      ['unused', 2 * HOUR, 10],
      ['b', HOUR, 7],
    ])
    expect(await rows({ blocked: true, limit: 1 })).toEqual([['unused', 2 * HOUR, 10]])
    expect(await limiter.inspect('b')).toMatchObject([
      { policy: 'default', blockedMs: HOUR, available: [{ units: 1, afterMs: HOUR }, { units: 5, afterMs: HOUR }, {}] },
    ])
    expect((await limiter.list({ blocked: true })).policy).toBe('default')
    await expect(limiter.list({ policy: 'default (blocked)' })).rejects.toThrow('one policy of this limiter, "default"')
  })

  test('of a penalty are listed without the option, by its own blocks and those by hand', async () => {
    const quota = penalty({ after: 2, within: '1m', block: '5m' })
    const limiter = rateLimiter({ quota, store: modelStore(() => START) })
    await limiter.consume('a', 2)
    await limiter.consume('b', 1)
    await limiter.block('c', '1h')
    const keys = (await limiter.list()).keys.map(({ key, blockedMs }) => [key, blockedMs])
    expect(keys).toEqual([
      ['c', HOUR],
      ['a', 300_000],
      ['b', 0],
    ])
    expect((await limiter.list({ blocked: true })).keys.map(({ key }) => key)).toEqual(['c', 'a'])
    expect((await limiter.inspect('a'))[0]).toMatchObject({ blockedMs: 300_000 })
  })
})

describe('a rateLimit that can block', () => {
  const setUp = (options: object) => {
    const guard = httpGuard({ store: modelStore(() => START), ...options } as never, plainReader)
    return { guard, ...guard.byKey, verdict: async () => guard({}) }
  }

  test('sends the rest of the block, the policy that denies and the problem type, and else the headers without it', async () => {
    const { verdict, block, unblock, peek } = setUp({ name: 'api', quota: perMinute(5), blocks: true })
    expect(new Map((await verdict()).headers).get('RateLimit-Policy')).toBe('"api";q=5;w=60')
    await block('203.0.113.7', '1h')
    const { headers, denial } = await verdict()
    expect(Object.fromEntries(headers)).toMatchObject({
      'RateLimit-Policy': '"api";q=5;w=60, "api (blocked)";q=0;w=1',
      RateLimit: '"api";r=4;t=12, "api (blocked)";r=0;t=3600',
      'Retry-After': '3600',
    })
    expect(JSON.parse(denial?.body ?? '')).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
      'violated-policies': ['api (blocked)'],
      'retry-after-ms': HOUR,
    })
    expect(await peek('203.0.113.7')).toMatchObject({ allowed: false, policy: 'api (blocked)' })
    await unblock('203.0.113.7')
    expect((await verdict()).decision).toMatchObject({ allowed: true, remaining: 3 })
  })

  test('settles and refunds the policy, and leaves its block list', async () => {
    const { verdict, peek } = setUp({ quota: perMinute(5), blocks: true, refundIf: (status: number) => status >= 500 })
    const first = await verdict()
    await first.decision?.settle(3)
    expect((await peek('203.0.113.7')).remaining).toBe(2)
    await (await verdict()).after?.(500, undefined)
    expect((await peek('203.0.113.7')).remaining).toBe(2)
  })

  test('never denies by a shadow policy, and reports that it would', async () => {
    const events: unknown[] = []
    const onDecision = ({ decision, mode }: { decision: { policy: string }; mode: string }) =>
      void events.push([decision.policy, mode])
    const { verdict, block } = setUp({ quota: perMinute(5), blocks: true, mode: 'shadow', onDecision })
    await verdict()
    await block('203.0.113.7', '1h', { policy: 'default' })
    expect((await verdict()).denial).toBeUndefined()
    expect(events).toEqual([
      ['default (shadow)', 'shadow'],
      ['default (shadow) (blocked)', 'shadow'],
    ])
  })

  test('blocks by a penalty, by a quota that a function chooses, and by the policy that can', async () => {
    const login = setUp({ quota: penalty({ after: 5, within: '1m', block: '1m' }) })
    await login.block('203.0.113.7', '1h')
    expect((await login.verdict()).denial?.status).toBe(429)
    const policies = [
      { name: 'burst', quota: perMinute(5) },
      { name: 'plan', quota: () => perMinute(50), blocks: true },
    ]
    const { block, verdict, reset } = setUp({ policies })
    await block('203.0.113.7', '1h')
    expect((await verdict()).decision).toMatchObject({ allowed: false, violated: ['plan (blocked)'] })
    await expect(block('203.0.113.7', '1h', { policy: 'burst' })).rejects.toThrow('Build it with blocks: true.')
    await expect(block('203.0.113.7', '1h', { polisy: 'plan' } as never)).rejects.toThrow('Did you mean "policy"?')
    expect(await reset('203.0.113.7')).toBe(true)
    expect((await verdict()).decision?.allowed).toBe(true)
  })

  test('rejects an option that is not a boolean, and a policy with the name of the block list', () => {
    expect(() => setUp({ quota: perMinute(5), blocks: 1 })).toThrow('blocks must be true or false; got 1.')
    const policies = [
      { name: 'a', quota: perMinute(5), blocks: true },
      { name: 'a (blocked)', quota: perMinute(5) },
    ]
    expect(() => setUp({ policies })).toThrow('are named "a (blocked)" and would count as one')
    const quotas = { a: perMinute(5), 'a (blocked)': perMinute(5) }
    expect(() => rateLimiter({ quotas, blocks: true, store: modelStore(() => START) })).toThrow(
      'are named "a (blocked)" and would count as one',
    )
  })
})
