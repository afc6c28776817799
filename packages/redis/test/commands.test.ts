import { histories, modelStore, START } from '@spillway/conformance'
import {
  penalty,
  perDay,
  perMinute,
  perSecond,
  rateLimiter,
  slidingLog,
  slidingWindow,
  type Take,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'
import { bucketsScript, scriptFor } from '../src/script.ts'

let server: Redis
let client: Ioredis
beforeAll(async () => {
  server = await startRedis()
})
// A client for each test: one name on one client has one quota.
beforeEach(async () => {
  client = new Ioredis({ port: server.port })
  await client.flushall()
})
afterEach(() => client.disconnect())
afterAll(() => server.stop())

const commandsOf = async (name: string): Promise<number> =>
  Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await client.info('commandstats'))?.[1] ?? 0)

const consume = (key: string, cost = 1): Take => ({
  policy: 'p',
  key,
  step: stepFor(perMinute(10), 'consume', cost),
})

/** Loads all scripts: a script that the server does not have is sent again, after later calls. */
async function loadAllScripts(): Promise<void> {
  const window = slidingWindow({ limit: 1, window: '1m' })
  const quotas = [
    perMinute(1),
    window,
    slidingLog({ limit: 1, window: '1m' }),
    warmingUp({ limit: 10, per: '1s', warmUpPeriod: '1m' }),
    penalty({ after: 1, within: '1s', block: '1m' }),
  ]
  const steps = quotas.map((quota) => stepFor(quota, 'consume', 1))
  await client.script('LOAD', bucketsScript.text)
  for (let set = 1; set < 2 ** steps.length; set++) {
    await client.script('LOAD', scriptFor(steps.filter((_, i) => set & (2 ** i))).text)
  }
}

test('returns the same results for the calls of one tick as the model for one call after the other', async () => {
  await loadAllScripts()
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await client.flushall()
      const [model, store] = [modelStore(() => START), redisStore(client, { denyCache: false })]
      const answers = await Promise.all(history.map(({ ops }) => store.take(ops, START)))
      expect(answers).toEqual(history.map(({ ops }) => model.takeSync(ops, START)))
    }),
    { numRuns: 300 },
  )
})

test('sends a thousand calls for one key in a dozen script calls', async () => {
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(client), deadline: '10s' })
  await limiter.peek('hot')
  await client.config('RESETSTAT')
  const decisions = await Promise.all(Array.from({ length: 1_000 }, () => limiter.consume('hot')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
  expect(await commandsOf('evalsha')).toBeLessThanOrEqual(12)
})

test('sends a hundred thousand calls for one limited key in a few script calls', async () => {
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(client), deadline: '10s' })
  await limiter.consume('hot', 10)
  await client.config('RESETSTAT')
  for (let i = 0; i < 100_000; i++) await limiter.consume('hot')
  expect(await commandsOf('evalsha')).toBeLessThanOrEqual(100)
})

// Reproduces a bug: each store had its own deny cache. After one store had reset a key, the other denied it for 1 s.
test.each([
  ['the same', {}],
  ['no deny cache', { denyCache: false as const }],
])(
  'stores of one client and prefix share a deny cache: a reset through a second one, with %s, is known to the first',
  async (_, options) => {
    const first = rateLimiter({ quota: perDay(10), store: redisStore(client, { denyCache: '1h' }), deadline: '10s' })
    const second = rateLimiter({ quota: perDay(10), store: redisStore(client, options), deadline: '10s' })
    await first.consume('a', 10)
    expect((await first.consume('a')).allowed).toBe(false)
    await second.reset('a')
    expect((await first.consume('a', 10)).allowed).toBe(true)
  },
)

test.each([{ prefix: 'other' }, { hashKeys: 'a secret of many characters' }])(
  'a store with %j shares no deny cache with one without',
  async (options) => {
    const store = redisStore(client, options)
    const [one, other] = [redisStore(client), store].map((each) =>
      rateLimiter({ quota: perDay(10), store: each, deadline: '10s' }),
    )
    await one?.consume('a', 10)
    await one?.consume('a')
    expect((await other?.consume('a'))?.allowed).toBe(true)
  },
)

test('sends one script call for a hundred requests that are leased', async () => {
  const store = redisStore(client, { lease: 100 })
  const limiter = rateLimiter({ quota: perMinute(60_000), store, name: 'p', deadline: '10s' })
  await client.config('RESETSTAT')
  for (let i = 0; i < 10_000; i++) expect((await limiter.consume('a')).allowed).toBe(true)
  expect(await commandsOf('evalsha')).toBeLessThanOrEqual(200)
  await store.release()
})

test('keeps a script call short if logs are long', async () => {
  const quota = slidingLog({ limit: 1_000, window: '1m' })
  const limiter = rateLimiter({ quota, store: redisStore(client), deadline: '10s' })
  await limiter.peek('a')
  await client.config('RESETSTAT')
  await Promise.all(Array.from({ length: 20 }, () => limiter.consume('a')))
  expect(await commandsOf('evalsha')).toBe(20)
})

// Reproduces a bug that the simulation found: a digest that the server did not know cost a round trip, in which later calls
// overtook a refund.
test('sends a script by its text until the server has run it, and by its digest then', async () => {
  const store = redisStore(client, { denyCache: false })
  await client.script('FLUSH')
  await client.config('RESETSTAT')
  await store.take([consume('a')])
  expect(await commandsOf('evalsha')).toBe(0)
  expect(await commandsOf('eval')).toBe(1)
  await store.take([consume('a')])
  expect(await commandsOf('evalsha')).toBe(1)
  await client.script('FLUSH')
  await store.take([consume('a')])
  await store.take([consume('a')])
  expect(await commandsOf('eval')).toBe(2)
  expect(await commandsOf('evalsha')).toBe(3)
})

test('sends each call on its own with coalesce: false', async () => {
  const store = redisStore(client, { coalesce: false, denyCache: false })
  await store.take([consume('a')])
  await client.config('RESETSTAT')
  await Promise.all(Array.from({ length: 20 }, () => store.take([consume('a')])))
  expect(await commandsOf('evalsha')).toBe(20)
})

test('deletes after earlier checks', async () => {
  const store = redisStore(client)
  const [, , [again]] = await Promise.all([
    store.take([consume('a', 10)], START),
    store.delete([{ policy: 'p', key: 'a' }]),
    store.take([consume('a', 10)], START),
  ])
  expect(again?.allowed).toBe(true)
})

test('needs one script call per decision for any number of quotas', async () => {
  const quotas = { burst: perSecond(10), minute: perMinute(100), log: slidingLog({ limit: 10, window: '1s' }) }
  const limiter = rateLimiter({ quotas, store: redisStore(client), deadline: '10s' })
  await limiter.peek('a')
  await client.config('RESETSTAT')
  await limiter.consume('a')
  const stats = await client.info('commandstats')
  const called = [...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)].map(([, name, calls]) => `${name} ${calls}`)
  expect(called.filter((each) => !/^(info|config)/.test(each)).sort()).toEqual([
    'evalsha 1',
    'mget 1',
    'set 3',
    'time 1',
  ])
})

test('writes nothing for denials and peeks', async () => {
  const store = redisStore(client)
  await store.take([consume('a', 10)])
  await client.config('RESETSTAT')
  await store.take([consume('a', 5)])
  await store.take([{ policy: 'p', key: 'b', step: stepFor(perMinute(10), 'peek', 1) }])
  expect([await commandsOf('set'), await client.exists('spillway:1{b}p')]).toEqual([0, 0])
})

test('sends only hashed keys to Redis with hashKeys', async () => {
  const store = redisStore(client, { hashKeys: 'correct horse battery' })
  const limiter = rateLimiter({ quota: perDay(3), store, deadline: '10s' })
  for (const key of ['alice', 'alice', 'bob']) await limiter.consume(key)
  const names = await client.keys('*')
  expect(names).toHaveLength(2)
  for (const name of names) expect(name).toMatch(/^spillway:1\{[\w-]{22}\}$/)
  expect((await limiter.peek('alice')).remaining).toBe(1)
  await limiter.reset('alice')
  expect((await limiter.peek('alice')).remaining).toBe(3)
  const other = rateLimiter({
    quota: perDay(3),
    store: redisStore(client, { hashKeys: 'another secret, as long' }),
    deadline: '10s',
  })
  expect((await other.peek('bob')).remaining).toBe(3)
  expect(() => redisStore(client, { hashKeys: 'short' })).toThrow(/^(?!.*short).*16 characters/)
  expect(() => redisStore(client, null as never)).toThrow('redisStore takes an object of options; got null')
  // Reproduces a bug: an unset environment variable left keys readable.
  expect(() => redisStore(client, { hashKeys: undefined } as object)).toThrow('redisStore hashKeys is undefined')
})

test.each([
  ['shop', 'shop:1{alice}api'],
  ['{shop}', '{shop}:1{alice}api'],
])('puts the prefix %s before every key', async (prefix, name) => {
  const store = redisStore(client, { prefix })
  await rateLimiter({ quota: perMinute(1), store, name: 'api', deadline: '10s' }).consume('alice')
  expect(await client.keys('*')).toEqual([name])
})

test.each(['', 'x', 'w', 'w:1', 'l', 'lx', 'e', 'ex', 'exy', 'e\xc1', 'exy\xa1a', 'l\xc1', 'nan', 'inf', '1.5'])(
  'a state that reads %j counts as none',
  async (value) => {
    const limiter = rateLimiter({ quota: perDay(3), store: redisStore(client), deadline: '10s' })
    const log = rateLimiter({
      quota: slidingLog({ limit: 3, window: '1d' }),
      store: redisStore(client),
      name: 'log',
      deadline: '10s',
    })
    for (const name of ['spillway:1{a}', 'spillway:1{a}log']) await client.set(name, Buffer.from(value, 'latin1'))
    expect((await limiter.consume('a')).remaining).toBe(2)
    expect((await log.consume('a')).remaining).toBe(2)
  },
)

test('a Redis hash of another program counts as no state', async () => {
  await client.hset('spillway:1{a}', 'field', 'value')
  const limiter = rateLimiter({ quota: perDay(3), store: redisStore(client), deadline: '10s' })
  expect((await limiter.consume('a')).remaining).toBe(2)
})

// Reproduces a bug: the README's line was used twice. After 100 calls of one route, the first login was denied.
test('two limiters of one name on one client have one quota', () => {
  rateLimiter({ quota: perMinute(100), store: redisStore(client) })
  const strict = (options?: object) => rateLimiter({ quota: perMinute(5), store: redisStore(client, options) })
  for (const options of [{}, { denyCache: false }, { lease: 5 }, { hashKeys: 'correct horse battery' }]) {
    expect(() => strict(options)).toThrow('two limiters on one database are named "default"')
  }
  strict({ prefix: 'shop' })
})

test('keeps the full bucket of a key with an initial level for as long as the level counts', async () => {
  const quota = tokenBucket({ limit: 5, per: '1s', initial: 0, keepFull: '1h' })
  const limiter = rateLimiter({ quota, store: redisStore(client), deadline: '10s' })
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, retryAfterMs: 200 })
  expect(await client.pttl('spillway:1{a}')).toBeGreaterThan(3_600_000)
})
