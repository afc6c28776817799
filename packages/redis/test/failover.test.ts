import { perHour, rateLimiter, StoreError } from '@spillway/core'
import { Cluster, Redis as Ioredis } from 'ioredis'
import { expect, test } from 'vitest'
import type { Redis } from '../../../test/services/redis.ts'
import { startRedisCluster, until } from '../../../test/services/redis-cluster.ts'
import { startRedisSentinel } from '../../../test/services/redis-sentinel.ts'
import { type RedisClient, redisStore } from '../src/index.ts'
import { admits, after, answers, expectBetween, limiterOf, serverTimer } from './servers.ts'

// The test did not fail when the client stayed with the old master, which Sentinel leaves a master for ten seconds.
test.each([true, false])(
  'behind Sentinel a client follows a failover, and states are kept: killed %s',
  async (killed) => {
    const servers = await startRedisSentinel()
    after.push(() => servers.stop())
    const client = new Ioredis({
      sentinels: [{ host: '127.0.0.1', port: servers.sentinel.port }],
      name: servers.name,
      sentinelRetryStrategy: () => 20,
      retryStrategy: () => 20,
    })
    client.on('error', () => {})
    after.push(() => client.disconnect())
    const limiter = limiterOf(client)
    // Master and replica run on one machine with one clock.
    const timer = await serverTimer(servers.replica.port)
    expect(await admits(limiter, 60)).toBe(60)
    // `0` waits for the replica, however slow the machine is.
    expect(await client.wait(1, 0)).toBe(1)
    const admin = new Ioredis({ port: servers.master.port, retryStrategy: () => null })
    admin.on('error', () => {})
    after.push(() => admin.disconnect())
    await admin.ping()
    if (killed) await servers.master.kill()
    await servers.failover()
    if (!killed) {
      // The new master does not know what its clients are still allowed by the old one.
      const admitted = await admits(limiter, 120)
      expectBetween(admitted, 40, 40 + (await timer.refilled()))
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
    }
    await until(() =>
      client.info('server').then(
        (text) => text.includes(`tcp_port:${servers.replica.port}\r`),
        () => false,
      ),
    )
    await answers(limiter)
    const { remaining } = await limiter.peek('a')
    expectBetween(remaining, 40, 40 + (await timer.refilled()))
    const admitted = await admits(limiter, 120)
    expectBetween(admitted, 40, 40 + (await timer.refilled()))
  },
)

// Reproduces a bug: one circuit for the whole store left a quarter of the requests to the healthy masters uncounted.
test('a cluster with one of three masters frozen counts every request to the others', async () => {
  const cluster = await startRedisCluster()
  after.push(() => cluster.stop())
  const client = new Cluster(
    cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    { slotsRefreshTimeout: 500 },
  )
  client.on('error', () => {})
  after.push(() => client.disconnect())
  const store = redisStore(client as RedisClient, { denyCache: false })
  const quota = perHour(1_000)
  const patient = rateLimiter({ quota, store, deadline: '10s' })
  const keys = Array.from({ length: 60 }, (_, i) => `key ${i}`)
  const masters = await Promise.all(keys.map((key) => cluster.masterOf(`spillway:1{${key}}`)))
  for (const key of keys) await patient.consume(key)
  const frozen = masters[0] as Redis
  const isHealthy = (key: string): boolean => masters[keys.indexOf(key)] !== frozen
  // A healthy master answers within four seconds even on a slow machine; the frozen one never answers.
  const limiter = rateLimiter({ quota, store, deadline: '4s' })
  frozen.signal('SIGSTOP')
  const rounds = await Promise.all(
    Array.from({ length: 5 }, () => keys.map(async (key) => ({ key, ...(await limiter.consume(key)) }))).flat(),
  )
  const later = await Promise.all(keys.map(async (key) => ({ key, ...(await limiter.consume(key)) })))
  frozen.signal('SIGCONT')
  const all = [...rounds, ...later]
  expect(all.filter(({ key, degraded }) => isHealthy(key) && degraded)).toEqual([])
  expect(all.filter(({ key, degraded }) => !isHealthy(key) && degraded?.action !== 'local')).toEqual([])
  // If the circuit is half-open by now, one request probes the node.
  const waited = later.filter(({ key, degraded }) => !isHealthy(key) && degraded?.reason !== 'open')
  expect(waited.length).toBeLessThanOrEqual(1)
})

test('a cluster that loses a master fails by the deadline, and continues with the replica, with at most one burst more', async () => {
  const cluster = await startRedisCluster({ replicated: true })
  after.push(() => cluster.stop())
  const client = new Cluster(
    cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    { clusterRetryStrategy: () => 20, retryDelayOnFailover: 20, retryDelayOnClusterDown: 20 },
  )
  client.on('error', () => {})
  after.push(() => client.disconnect())
  const [limiter, patient] = [limiterOf(client, { deadline: 100 }), limiterOf(client)]
  const before = await serverTimer(cluster.nodes[0]?.port as number)
  const admittedBefore = await admits(patient, 120)
  expectBetween(admittedBefore, 100, 100 + (await before.refilled()))
  const master = await cluster.masterOf('spillway:1{a}p')
  await master.kill()
  const start = performance.now()
  await expect(limiter.consume('a')).rejects.toThrow(StoreError)
  expect(performance.now() - start).toBeLessThan(5_000)
  await cluster.settled()
  await answers(limiter)
  // Requests that were not replicated may be admitted again: one burst at most. Then the bucket is empty.
  const replica = await cluster.masterOf('spillway:1{a}p')
  const timer = await serverTimer(replica.port)
  const again = await admits(patient, 120)
  expectBetween(again, 0, 100 + (await timer.refilled()))
  expectBetween(again + (await admits(patient, 10)), 0, 100 + (await timer.refilled()))
  // A failover, and a circuit that opens for longer each time meanwhile.
}, 120_000)
