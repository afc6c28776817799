import { Redis as Client } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { testInFlight } from '../../../test/in-flight/stories.ts'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'

let server: Redis
let client: Client
beforeAll(async () => {
  server = await startRedis()
  client = new Client({ port: server.port })
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

testInFlight(() => ({
  connection: { port: server.port },
  store: redisStore(client),
  async now() {
    const [seconds, micros] = await client.time()
    return Number(seconds) * 1e6 + Number(micros)
  },
}))
