import { perDay, rateLimiter } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { type RedisClient, redisStore } from '../src/index.ts'
import { type Connected, clients } from './clients.ts'

let server: Redis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const limiterOf = (client: RedisClient, prefix: string, name = 'default') =>
  rateLimiter({ name, quota: perDay(10), store: redisStore(client, { prefix }), deadline: '10s' })

const KEYS = Array.from({ length: 2_500 }, (_, i) => `user-${i}`)

describe.each(Object.entries(clients))('%s', (_, connect) => {
  let connected: Connected
  beforeAll(async () => {
    connected = await connect(server.port)
  })
  beforeEach(async () => {
    await connected.command('FLUSHALL')
    await connected.command('CONFIG', 'RESETSTAT')
  })
  afterAll(() => connected.close())

  test('resetAll deletes thousands of keys in few commands, none of which blocks the server', async () => {
    const limiter = limiterOf(connected.client, 'spillway')
    await Promise.all(KEYS.map((key) => limiter.consume(key, 10)))
    expect(await limiter.resetAll()).toBe(2_500)
    const stats = String(await connected.command('INFO', 'commandstats'))
    const callsOf = (name: string): number => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
    expect([callsOf('keys'), callsOf('del')]).toEqual([0, 0])
    expect(callsOf('scan')).toBeLessThan(10)
    expect(callsOf('unlink')).toBeLessThan(10)
    expect((await limiter.consume('user-7', 10)).allowed).toBe(true)
  })

  test('resetAll keeps the states of other prefixes and policies', async () => {
    const prefixes = ['a*', 'a', 'ab', 'a[b]', 'a?', '{a*}', 'a*:1{x}p', 'a\\*']
    const limiters = prefixes.flatMap((prefix) =>
      ['default', 'p', '*'].map((name) => limiterOf(connected.client, prefix, name)),
    )
    for (const limiter of limiters) await limiter.consume('alice')
    for (const [i, limiter] of limiters.entries()) {
      expect(await limiter.resetAll(), `${i}`).toBe(1)
      const left = await Promise.all(limiters.map((each) => each.peek('alice')))
      expect(left.map(({ remaining }) => remaining)).toEqual(limiters.map((_, j) => (j <= i ? 10 : 9)))
    }
  })
})

test('resetAll finds the keys of a client with a keyPrefix', async () => {
  const client = new Ioredis({ port: server.port, keyPrefix: 'app*:' })
  const limiter = limiterOf(client, 'spillway')
  await limiter.consume('alice')
  expect([await limiter.resetAll(), await limiter.resetAll()]).toEqual([1, 0])
  client.disconnect()
})
