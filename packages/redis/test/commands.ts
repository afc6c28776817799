import { Redis as Ioredis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'

let server: Redis
export let client: Ioredis
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
