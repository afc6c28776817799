import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RedisCluster, startRedisCluster } from '../../test/services/redis-cluster.ts'
import { build } from './main.ts'

let cluster: RedisCluster
let instances: ReturnType<typeof build>[]
let servers: Server[]

beforeAll(async () => {
  cluster = await startRedisCluster()
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const users = new Map(['alice', 'bob', 'carol'].map((user) => [`key-of-${user}`, user]))
  instances = [build(users, nodes), build(users, nodes)]
  servers = await Promise.all(
    instances.map(
      ({ app }) =>
        new Promise<Server>((resolve) => {
          const server = app.listen(0, '127.0.0.1', () => resolve(server))
        }),
    ),
  )
})

afterAll(async () => {
  for (const server of servers) server.close()
  for (const each of instances) each.cluster.disconnect()
  await cluster.stop()
})

const ask = (instance: number, user: string): Promise<Response> => {
  const { port } = (servers[instance] as Server).address() as AddressInfo
  return fetch(`http://127.0.0.1:${port}`, { headers: { authorization: `Bearer key-of-${user}` } })
}

test('two instances share one count for each user', async () => {
  for (const user of ['alice', 'bob', 'carol']) {
    const startMs = performance.now()
    const responses = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(i % 2, user)))
    const admitted = responses.filter(({ status }) => status === 200)
    // One unit refills every 100 ms meanwhile.
    const refilled = Math.ceil((performance.now() - startMs) / 100)
    expect(admitted.length).toBeGreaterThanOrEqual(10)
    expect(admitted.length).toBeLessThanOrEqual(10 + refilled)
    const denied = responses.find(({ status }) => status === 429)
    expect(denied?.headers.get('ratelimit-policy')).toBe('"burst";q=10;w=1, "hourly";q=1000;w=3600')
    expect(denied?.headers.get('retry-after')).toBe('1')
  }
})

// Reproduces: each invented user had a quota of its own.
test('an unknown API key gets 401', async () => {
  expect((await ask(0, 'nobody')).status).toBe(401)
})
