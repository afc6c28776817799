import { testStore } from '@spillway/conformance'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ensureRedis, ensureValkey } from '../../../scripts/ensure.mjs'
import { type Redis, startRedis } from '../../../test/services/redis.ts'
import { type RedisStoreOptions, redisStore } from '../src/index.ts'
import { type Connected, clients } from './clients.ts'

const valkey = ensureValkey()
const programs: readonly (readonly [string, string])[] = [
  ['Redis', ensureRedis()],
  ...(valkey === undefined ? [] : [['Valkey', valkey] as const]),
]
const TOGETHER: RedisStoreOptions = {}
const APART: RedisStoreOptions = { coalesce: false, denyCache: false }
// Tests every client with the installed server, and one client with the other server. Calls that are sent apart are in order
// on one connection, and in none in a pool.
const pairs = programs.flatMap(([name, program], i) =>
  Object.entries(clients)
    .slice(0, i === 0 ? undefined : 1)
    .map(([client, connect]) => ({
      name: `${name}, ${client}`,
      program,
      connect,
      ordered: !client.includes('pool'),
      all: i === 0 && client !== 'node-redis' ? [TOGETHER, APART] : [TOGETHER],
    })),
)

describe.each(pairs)('$name', ({ program, connect, ordered, all }) => {
  let server: Redis
  let connected: Connected
  beforeAll(async () => {
    server = await startRedis({ program })
    connected = await connect(server.port)
  })
  afterAll(async () => {
    connected.close()
    await server.stop()
  })
  let startMs = 0
  beforeEach(() => {
    startMs = performance.now()
  })
  // Rows 6 and 29 of the peers' bugs: a key without an expiry limits its client for ever. A state is kept for a minute.
  afterEach(async () => {
    const keys = (await connected.command('KEYS', '*')) as string[]
    const left = await Promise.all(keys.map((key) => connected.command('PTTL', key)))
    const least = Math.max(59_000 - (performance.now() - startMs), 0)
    expect(left.filter((ms) => Number(ms) < least)).toEqual([])
  })

  let stores = 0
  describe.each(all)('%o', (options) => {
    testStore(
      test,
      async () => {
        await connected.command('FLUSHALL')
        // Stores of one client and prefix share a deny cache: these stores must not.
        return redisStore(connected.client, { ...options, prefix: `store-${++stores}` })
      },
      { histories: 15, ordered },
    )
  })
})
