// cspell:ignore cmdstat commandstats RESETSTAT

import { perDay, rateLimiter } from '@spillway/core'
import { Cluster, Redis as Ioredis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { startRedisCluster } from '../../../test/services/redis-cluster.ts'
import { redisStore } from '../src/index.ts'

const closing: (() => unknown)[] = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

test('list finds a policy among a million other keys within its bounds, by short commands', async () => {
  const server = await startRedis()
  closing.push(() => server.stop())
  const redis = new Ioredis(server.port, '127.0.0.1')
  closing.push(() => redis.disconnect())
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(redis), deadline: '30s' })
  for (const [key, units] of [
    ['a', 4],
    ['\u001b[2J<b>', 10],
    ['k'.repeat(15_000), 7],
  ] as const) {
    await limiter.consume(key, units)
  }
  const few = await limiter.list({ timeout: '10s' })
  expect(few).toMatchObject({ scanned: 3, isComplete: true })
  expect(few.keys.map(({ isDigest, decision }) => [isDigest, decision.remaining])).toEqual([
    [true, 0],
    [true, 3],
    [false, 6],
  ])
  const script = `for i = 1, 1000000 do redis.call('SET', 'spillway:1{user-' .. i .. '}', '1') end`
  await redis.eval(script, 0)
  await redis.call('CONFIG', 'RESETSTAT')
  const startMs = performance.now()
  const many = await limiter.list({ scan: 20_000, timeout: '30s' })
  expect(many.isComplete).toBe(false)
  expect(many.scanned).toBeGreaterThanOrEqual(20_000)
  expect(many.scanned).toBeLessThan(22_000)
  const stats = String(await redis.info('commandstats'))
  const callsOf = (name: string): number => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  expect(callsOf('scan')).toBeLessThanOrEqual(22)
  expect(callsOf('keys')).toBe(0)
  const timed = await limiter.list({ scan: 1_000_000, timeout: '200ms' })
  expect(timed.isComplete).toBe(false)
  process.stdout.write(`20,000 of a million states: ${Math.round(performance.now() - startMs)} ms\n`)
})

test('list finds the keys on every master of a cluster', async () => {
  const servers = await startRedisCluster()
  closing.push(() => servers.stop())
  const cluster = new Cluster(servers.nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  closing.push(() => cluster.disconnect())
  const limiter = rateLimiter({ quota: perDay(10), store: redisStore(cluster), deadline: '30s' })
  const keys = Array.from({ length: 60 }, (_, i) => `user-${i}`)
  for (const key of keys) await limiter.consume(key)
  const { keys: found, isComplete } = await limiter.list({ limit: 100, timeout: '10s' })
  expect(isComplete).toBe(true)
  expect(found.map(({ key }) => key).sort()).toEqual(keys.toSorted())
})
