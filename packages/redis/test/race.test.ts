import type { BucketTaken } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import { Cluster, Redis as Ioredis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { startRedisCluster } from '../../../test/services/redis-cluster.ts'
import { redisStore } from '../src/index.ts'
import { HOT, hotQuota, race } from './race.ts'

const servers = {
  async standalone() {
    const server = await startRedis()
    return {
      ports: [server.port],
      clustered: false,
      client: new Ioredis({ port: server.port }),
      stop: () => server.stop(),
    }
  },
  async cluster() {
    const cluster = await startRedisCluster()
    const ports = cluster.nodes.map(({ port }) => port)
    const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
    return { ports, clustered: true, client, stop: () => cluster.stop() }
  },
}

// Needs real time: the test measures how much the server admits by its own clock.
describe.each(Object.entries(servers))('%s', (_, start) => {
  test('eight processes of fifty callers with clocks minutes apart get exactly the burst and the rate', async () => {
    const { ports, clustered, client, stop } = await start()
    const minutes = [-60, -5, -1, 0, 0, 1, 5, 60]
    const clocks = minutes.map((each) => ({ ports, clustered, callers: 50, forMs: 1_000, clockOffMs: each * 60_000 }))
    const { admitted, denied, first } = await race(clocks)
    // Consumes what has refilled since, so that the last result is a denial. Many calls run at once, because on a busy
    // machine one take lasts longer than the refill of a unit.
    const store = redisStore(client, { denyCache: false })
    const ops = [{ ...HOT, step: stepFor(hotQuota, 'consume', 1) }]
    let after = 0
    let last: BucketTaken
    do {
      const taken = (await Promise.all(Array.from({ length: 100 }, () => store.take(ops)))).flat() as BucketTaken[]
      after += taken.filter(({ allowed }) => allowed).length
      last = taken.at(-1) as BucketTaken
    } while (last.allowed)
    expect(denied).toBeGreaterThan(0)
    expect(admitted + after).toBe(Math.floor(hotQuota.limit + (last.now - first) / hotQuota.ticksPerUnit))
    client.disconnect()
    await stop()
    // A busy machine needs half a minute to start eight processes and a cluster.
  }, 120_000)
})
