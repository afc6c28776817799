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
  warmingUp,
} from '@spillway/core'
import { inFlight } from '@spillway/core/in-flight'
import { stepFor } from '@spillway/core/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bucketsScript } from '../src/algorithms/plain-buckets.ts'
import { Codec } from '../src/codec.ts'
import { buckets, logs, penalties, slots, warmUps, windows } from '../src/features.ts'
import { redisStore } from '../src/index.ts'
import { client } from './commands.ts'

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
    inFlight(1),
  ]
  const steps = quotas.map((quota) => stepFor(quota, 'consume', 1))
  const codec = new Codec(
    [buckets, windows, logs, warmUps, penalties, slots].flatMap(({ algorithm = [] }) => algorithm as never),
  )
  await client.script('LOAD', bucketsScript.text)
  for (let set = 1; set < 2 ** steps.length; set++) {
    await client.script('LOAD', codec.scriptFor(steps.filter((_, i) => set & (2 ** i))).text)
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
