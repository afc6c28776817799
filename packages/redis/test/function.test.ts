import { execFileSync } from 'node:child_process'
import { perDay, rateLimiter, tokenBucket } from '@spillway/core'
import fc from 'fast-check'
import { Redis as Ioredis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureRedis, ensureValkey } from '../../../scripts/ensure.mjs'
import { majorVersion, type Redis, startRedis } from '../../../test/services/redis.ts'
import { functionLua, redisStore } from '../src/index.ts'
import { namerOf } from '../src/name.ts'

// Calls spillway_consume from redis-cli and as other languages do, beside limiters on the same keys.

const [redis, valkey] = [ensureRedis(), ensureValkey()]

const programs = [
  ...(majorVersion(redis) >= 7 ? [['Redis', redis]] : []), // Redis 6 has no functions
  ...(valkey === undefined ? [] : [['Valkey', valkey]]),
]

describe.each(programs)('%s', (_, program) => {
  let server: Redis
  let client: Ioredis
  const cli = (...words: string[]): string => {
    // It reads its input for -x alone: else it may have ended before all is written, which fails.
    const input = words[0] === '-x' ? functionLua : ''
    return execFileSync('redis-cli', ['-p', String(server.port), ...words], { encoding: 'utf8', input }).trim()
  }
  const call = (name: string, ...args: (string | number)[]): Promise<number[]> =>
    client.call('FCALL', 'spillway_consume', 1, name, ...args) as Promise<number[]>
  beforeAll(async () => {
    server = await startRedis({ program })
    client = new Ioredis({ port: server.port })
    expect(cli('-x', 'FUNCTION', 'LOAD', 'REPLACE')).toBe('spillway')
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })

  test('is called from redis-cli', () => {
    expect(cli('FCALL', 'spillway_consume', '1', 'spillway:1{cli}', '10', '1d')).toBe('1\n9\n0\n8640000')
    expect(cli('FCALL', 'spillway_consume', '1', 'spillway:1{cli}', '10', '86400000', '10', '3')).toMatch(/^1\n6\n0\n/)
    expect(cli('FCALL', 'spillway_consume', '1', 'spillway:1{cli}', '10', '1d', '10', '11')).toMatch(/^0\n6\n-1\n/)
  })

  test('shares its quota with a limiter of the same name', async () => {
    const limiter = rateLimiter({
      quota: perDay(10),
      store: redisStore(client, { denyCache: false }),
      name: 'api',
      deadline: '25s',
    })
    const name = namerOf('spillway')({ policy: 'api', key: 'alice' })
    expect(await limiter.consume('alice', 4)).toMatchObject({ remaining: 6 })
    expect((await call(name, 10, '1d', 10, 5)).slice(0, 3)).toEqual([1, 1, 0])
    expect(await limiter.consume('alice', 2)).toMatchObject({ allowed: false, remaining: 1 })
    const [allowed, remaining, retryAfterMs = 0] = await call(name, 10, '1d', 10, 2)
    expect([allowed, remaining]).toEqual([0, 1])
    expect((await limiter.peek('alice', 2)).retryAfterMs).toBeLessThanOrEqual(retryAfterMs)
    await limiter.refund('alice', 9)
    expect((await call(name, 10, '1d', 10, 10)).slice(0, 3)).toEqual([1, 0, 0])
    expect(await client.pttl(name)).toBeGreaterThan(86_400_000)
  })

  test('allows exactly the burst of many concurrent calls, beside a limiter', async () => {
    const limiter = rateLimiter({ quota: perDay(20), store: redisStore(client), deadline: '25s' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, i) =>
        i % 2 ? (await limiter.consume('hot')).allowed : (await call('spillway:1{hot}', 20, '1d'))[0] === 1,
      ),
    )
    expect(answers.filter(Boolean)).toHaveLength(20)
  })

  test('writes the same state as the store, for any rate that core accepts', async () => {
    const calls = fc.record({
      limit: fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 1_000_000_000 })),
      per: fc.constantFrom('1s', '10s', '1m', '90m', '1d', '1.5s', 250),
      burst: fc.integer({ min: 1, max: 1_000 }),
      cost: fc.integer({ min: 1, max: 1_001 }),
    })
    await fc.assert(
      fc.asyncProperty(calls, async ({ limit, per, burst, cost }) => {
        const name = 'spillway:1{any}'
        const quota = tokenBucket({ limit, per: per as '1s', burst })
        await client.del(name)
        const resetAfterMs = Math.ceil((cost * quota.ticksPerUnit) / quota.scale / 1000)
        expect(await call(name, limit, per, burst, cost)).toEqual(
          cost <= burst ? [1, burst - cost, 0, resetAfterMs] : [0, burst, -1, 0],
        )
      }),
      { numRuns: 200 },
    )
  })

  test.each<[string, string, (string | number)[], string]>([
    ['no limit', 'spillway:1{a}', [], 'takes limit, per, burst and cost'],
    ['too many arguments', 'spillway:1{a}', [1, '1s', 1, 1, 1], 'takes limit, per, burst and cost'],
    ['a limit of 0', 'spillway:1{a}', [0, '1s'], 'limit must be a whole number from 1 to 3000000000000000; got "0"'],
    ['a broken burst', 'spillway:1{a}', [1, '1s', '1.5'], 'burst must be a whole number'],
    ['a negative cost', 'spillway:1{a}', [1, '1s', 1, -1], 'cost must be a whole number'],
    ['an unknown unit', 'spillway:1{a}', [1, '1w'], 'such as 10s; got "1w"'],
    ['a period of 0', 'spillway:1{a}', [1, 0], 'per must be milliseconds'],
    ['more than is counted exactly', 'spillway:1{a}', [999_999_937, '1d', 1e9], 'burst must be at most 52123'],
    ['a bucket of centuries', 'spillway:1{a}', [1, '1d', 40_000], 'over 95 years'],
    ['a bare key', 'user:42', [1, '1s'], 'prefix:1{key}policy; got "user:42"'],
    ['a key of another version', 'spillway:2{a}', [1, '1s'], 'prefix:1{key}policy'],
    ['a key that is not plain', 'spillway:1{é}', [1, '1s'], 'prefix:1{key}policy'],
    ['a long key', `spillway:1{${'k'.repeat(65)}}`, [1, '1s'], 'stand in a name as their hash'],
    ['the default policy by its name', 'spillway:1{a}default', [1, '1s'], '"default" is left out'],
  ])('rejects %s, and says what to write', async (_, name, args, message) => {
    const error = await call(name, ...args).catch((error: unknown) => error as Error)
    expect((error as Error).message).toMatch(/^ERR spillway_consume .* Write: FCALL spillway_consume 1 "spillway:1\{/)
    expect((error as Error).message).toContain(message)
  })

  test('rejects several keys', async () => {
    await expect(client.call('FCALL', 'spillway_consume', 2, 'a', 'b', 1, '1s')).rejects.toThrow('takes one key; got 2')
  })
})
