import { testStore } from '@spillway/conformance'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'
import { type Connected, clients } from './clients.ts'

let server: Redis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

describe.each(Object.entries(clients))('%s', (_, connect) => {
  let connected: Connected
  beforeAll(async () => {
    connected = await connect(server.port)
  })
  afterAll(() => connected.close())
  // Row 4 of the peers' bugs: a key without an expiry limits its client for ever.
  afterEach(async () => {
    const keys = (await connected.command('KEYS', '*')) as string[]
    const left = await Promise.all(keys.map((key) => connected.command('PTTL', key)))
    expect(left.filter((ms) => Number(ms) < 59_000)).toEqual([])
  })

  describe.each([{}, { coalesce: false, denyCache: false as const }])('%o', (options) => {
    testStore(
      test,
      async () => {
        await connected.command('FLUSHALL')
        return redisStore(connected.client, options)
      },
      { histories: 100 },
    )
  })
})
