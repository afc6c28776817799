import '../src/index.ts'
import { redisStore } from '@spillway/redis'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Redis as Server, startRedis } from '../../../test/services/redis.ts'
import { type Command, commandOf, RedisServer } from '../src/redis/server.ts'
import { World } from '../src/runtime/world.ts'
import { histories, play, TICK, tick } from './histories.ts'

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
  const simulated = new RedisServer(new World(1), 'simulated', { wrote: () => {}, lost: () => {}, swept: () => {} })
  let compared = 0
  const send = async (name: Command['name'], words: readonly (string | number)[]): Promise<unknown> => {
    const reply = await client.call(name, ...words).catch((error: unknown) => error)
    if (reply instanceof Error) throw reply
    compared++
    expect(numbers(simulated.execute(commandOf(name, words.map(String)))[0])).toEqual(numbers(reply))
    return reply
  }
  const both = {
    evalsha: (...words: (string | number)[]) => send('evalsha', words),
    eval: (...words: (string | number)[]) => send('eval', words),
    del: (...names: string[]) => send('del', names),
  }
  return { both, compared: () => compared }
}

test('a simulated server replies what a real one does, for any history of every quota', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (calls) => {
      await flush()
      const { both, compared } = bothServers()
      await play(redisStore(both as never, { denyCache: false, coalesce: false }), calls)
      expect(compared()).toBeGreaterThan(0)
    }),
    { numRuns: 60 },
  )
}, 120_000)

test('the calls of a tick are answered alike, too', async () => {
  const { both } = bothServers()
  expect(await tick(redisStore(both as never, { denyCache: false }))).toEqual(TICK)
})
