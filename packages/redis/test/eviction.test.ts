import { perDay, perHour, rateLimiter } from '@spillway/core'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { redisStore } from '../src/index.ts'

// The effect of maxmemory-policy on a limited key while a flood of new keys fills the memory. The client consumes its
// 10 units per hour, and tries again after each flood; docs/guides/redis-eviction.md has the numbers.

const FLOODS = 3
const QUOTA = 10
const BATCH = 500

interface Flooded {
  readonly admitted: number
  /** After how many floods the server had evicted the state. */
  readonly losses: number
  /** New keys that the server rejected because its memory was full. */
  readonly failures: number
}

async function flooded(policy: string, flood: 'same quota' | 'longer quota' | 'whole quota'): Promise<Flooded> {
  const server = await startRedis({ settings: { 'maxmemory-policy': policy } })
  const redis = new Redis(server.port, '127.0.0.1')
  const infoOf = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.info())?.[1])
  const store = redisStore(redis, { denyCache: false })
  const limiter = rateLimiter({ quota: perHour(QUOTA), store, deadline: '20s', onStoreError: 'throw' })
  const daily = rateLimiter({ name: 'daily', quota: perDay(QUOTA), store, deadline: '20s', onStoreError: 'throw' })
  // Not the flood's store, whose circuit opens when writes fail.
  const apart = redisStore(redis, { denyCache: false })
  const limited = rateLimiter({ quota: perHour(QUOTA), store: apart, deadline: '20s', onStoreError: 'throw' })
  let fresh = 0
  let failures = 0
  const batch = async (): Promise<void> => {
    const made = Array.from({ length: BATCH }, () => {
      const key = `fresh ${fresh++}`
      return flood === 'longer quota' ? daily.consume(key) : limiter.consume(key, flood === 'whole quota' ? QUOTA : 1)
    })
    for (const { status } of await Promise.allSettled(made)) if (status === 'rejected') failures++
  }
  // The script and the client have their memory already: the rest is for keys.
  await batch()
  await redis.config('SET', 'maxmemory', (await infoOf('used_memory')) + 500_000)
  let admitted = 0
  let losses = 0
  for (let i = 0; i <= FLOODS; i++) {
    for (let unit = 0; unit < 2 * QUOTA; unit++) if ((await limited.consume('limited')).allowed) admitted++
    if (i === FLOODS) break
    // Twice as many new keys as fit; with random eviction, until the server has evicted the state.
    const isKept = async (): Promise<boolean> => (await redis.keys('*limited*')).length > 0
    const evicted = await infoOf('evicted_keys')
    for (
      let sent = 0;
      sent < 2 * (await redis.dbsize()) ||
      (policy !== 'noeviction' && (await infoOf('evicted_keys')) === evicted) ||
      (/lru|random/.test(policy) && (await isKept()));
    ) {
      await batch()
      sent += BATCH
    }
    if (!(await isKept())) losses++
  }
  redis.disconnect()
  await server.stop()
  return { admitted, losses, failures }
}

test('noeviction keeps the bound, and fails for new keys', async () => {
  const { admitted, losses, failures } = await flooded('noeviction', 'same quota')
  expect([admitted, losses]).toEqual([QUOTA, 0])
  expect(failures).toBeGreaterThan(0)
})

test('volatile-ttl keeps the bound against keys that used less of the same quota', async () => {
  expect(await flooded('volatile-ttl', 'same quota')).toEqual({ admitted: QUOTA, losses: 0, failures: 0 })
})

test.each(['longer quota', 'whole quota'] as const)('volatile-ttl does not against keys of a %s', async (flood) => {
  const { admitted, losses, failures } = await flooded('volatile-ttl', flood)
  expect([losses > 0, admitted >= QUOTA * (1 + losses), failures]).toEqual([true, true, 0])
})

test.each(['allkeys-lru', 'volatile-lru', 'allkeys-random', 'volatile-random'])(
  '%s gives a limited key its quota again, whenever it evicts it',
  async (policy) => {
    const { admitted, losses, failures } = await flooded(policy, 'same quota')
    // The state may be evicted once more while the client takes its units.
    expect([losses, admitted >= QUOTA * (1 + losses), failures]).toEqual([FLOODS, true, 0])
  },
)

test.each([
  ['allkeys-lru', 1e9, 1],
  ['volatile-lfu', 1e9, 1],
  ['allkeys-lru', 0, 0],
  ['volatile-ttl', 1e9, 0],
  ['noeviction', 1e9, 0],
])('%s with maxmemory %d: %d warnings, for all stores of a client', async (policy, maxmemory, times) => {
  const server = await startRedis({ settings: { 'maxmemory-policy': policy, maxmemory } })
  const redis = new Redis(server.port, '127.0.0.1')
  const logged: string[] = []
  const logger = { warn: (message: string) => void logged.push(message) }
  for (const prefix of ['a', 'b']) {
    const limiter = rateLimiter({ quota: perHour(1), store: redisStore(redis, { prefix }), deadline: '20s', logger })
    await limiter.consume('a')
    await limiter.consume('b')
  }
  // Redis replies in order: this command was sent earlier.
  await redis.ping()
  await Promise.resolve()
  redis.disconnect()
  await server.stop()
  expect(logged.filter((text) => text.includes(`maxmemory-policy: ${policy} [`))).toHaveLength(times)
})
