import '../src/index.ts'
import {
  type BucketTaken,
  penalty,
  perMinute,
  type Quota,
  slidingLog,
  slidingWindow,
  tokenBucket,
  warmingUp,
} from '@spillway/core'
import { stepFor, type Verb } from '@spillway/core/internal'
import { redisStore } from '@spillway/redis'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Redis as Server, startRedis } from '../../../test/services/redis.ts'
import { type Command, RedisServer } from '../src/redis/server.ts'
import { START, World } from '../src/runtime/world.ts'

// The simulated server is as true as its replies: it gets the arguments that a real one gets, and must answer the same.

let server: Server
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis({ port: server.port })
})
beforeEach(flush)
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** Forgets all states and scripts, as a new simulated server has none. */
async function flush(): Promise<void> {
  await client.flushall()
  await client.script('FLUSH')
}

const numbers = (reply: unknown): unknown => (Array.isArray(reply) ? reply.map(numbers) : Number(reply))

/** A client that sends each command to the real server and to a simulated one, and compares the replies. */
function bothServers() {
  const simulated = new RedisServer(new World(1), 'simulated', { wrote: () => {}, lost: () => {} })
  let compared = 0
  const send = async (name: Command['name'], words: readonly (string | number)[]): Promise<unknown> => {
    const reply = await client.call(name, ...words).catch((error: unknown) => error)
    if (reply instanceof Error) throw reply
    compared++
    expect(numbers(simulated.execute({ name, words: words.map(String) })[0])).toEqual(numbers(reply))
    return reply
  }
  const both = {
    evalsha: (...words: (string | number)[]) => send('evalsha', words),
    eval: (...words: (string | number)[]) => send('eval', words),
    del: (...names: string[]) => send('del', names),
  }
  return { both, compared: () => compared }
}

const quotas: readonly Quota[] = [
  perMinute(10),
  tokenBucket({ limit: 7, per: '1s' }),
  tokenBucket({ limit: 12, per: '1m', refill: '10s' }),
  slidingWindow({ limit: 10, window: '1m' }),
  slidingLog({ limit: 10, window: '1m' }),
  warmingUp({ limit: 10, per: '1s', warmUpPeriod: '10s' }),
  penalty({ after: 4, within: '10s', block: '30s', grow: 2, max: '5m' }),
]
const verbs: readonly Verb[] = ['consume', 'consume', 'consume', 'peek', 'refund', 'charge']
const call = fc.record({
  quota: fc.nat(quotas.length - 1),
  other: fc.option(fc.nat(quotas.length - 1)),
  verb: fc.constantFrom(...verbs),
  cost: fc.integer({ min: 1, max: 4 }),
  key: fc.constantFrom('a', 'b'),
  afterMs: fc.constantFrom(0, 0, 1, 700, 20_000, -5_000),
  settles: fc.boolean(),
})

test('a simulated server replies what a real one does, for any history of every quota', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 25 }), async (calls) => {
      await flush()
      const { both, compared } = bothServers()
      const store = redisStore(both as never, { denyCache: false, coalesce: false })
      let now = START
      const taken = new Map<number, BucketTaken>()
      for (const { quota, other, verb, cost, key, afterMs, settles } of calls) {
        now += afterMs * 1000
        const original = settles && verb === 'refund' ? taken.get(quota) : undefined
        const step = stepFor(quotas[quota] as Quota, verb, cost, original && { original })
        const ops = [{ policy: `p${quota}`, key, step }]
        if (other !== null && other !== quota && verb === 'consume')
          ops.push({ policy: `p${other}`, key, step: stepFor(quotas[other] as Quota, verb, cost) })
        const [first] = await store.take(ops, now)
        if (verb === 'consume') taken.set(quota, first as BucketTaken)
      }
      expect(compared()).toBeGreaterThan(0)
    }),
    { numRuns: 60 },
  )
}, 120_000)

test('the calls of a tick are answered alike, too', async () => {
  const { both } = bothServers()
  const store = redisStore(both as never, { denyCache: false })
  const step = stepFor(perMinute(10), 'consume', 3)
  const other = stepFor(tokenBucket({ limit: 7, per: '1s' }), 'consume', 2)
  const answers = await Promise.all([
    ...Array.from({ length: 5 }, () => store.take([{ policy: 'p', key: 'a', step }], START)),
    ...Array.from({ length: 4 }, () => store.take([{ policy: 'q', key: 'b', step: other }], START)),
  ])
  expect(answers.map(([taken]) => taken?.allowed)).toEqual([true, true, true, false, false, true, true, true, false])
})
