import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { perDay, rateLimiter, tokenBucket } from '@spillway/core'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensurePostgres } from '../../../scripts/ensure.mjs'
import { runsOf } from '../../../test/runs.ts'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { migrate, postgresStore } from '../src/index.ts'
import { rowName } from '../src/key.ts'
import { unhurried } from './unhurried.ts'

// Calls spillway_consume from psql and as other languages do, beside limiters on the same rows.

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 4 })
  await migrate(pool)
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

interface Answer {
  readonly allowed: boolean
  readonly remaining: string
  readonly retry_after_ms: number
  readonly reset_after_ms: number
}

const call = async (...values: unknown[]): Promise<Answer> => {
  const places = values.map((_, i) => `$${i + 1}`).join(', ')
  return (await pool.query<Answer>(`SELECT * FROM spillway_consume(${places})`, values)).rows[0] as Answer
}

const psql = (sql: string): string => {
  const program = join(dirname(ensurePostgres().postgres), 'psql')
  const { host, user, database } = server.config
  const flags = ['-h', host, '-U', user, '-d', database, '-X', '-At', '-c', sql]
  return execFileSync(existsSync(program) ? program : 'psql', flags, { encoding: 'utf8' }).trim()
}

test('can be called from psql like the published function', () => {
  expect(psql("SELECT allowed, remaining FROM spillway_consume('psql', 10, '1 day')")).toBe('t|9')
  expect(psql("SELECT remaining FROM spillway_consume('psql', 10, '1 day', 10, 3)")).toBe('6')
  expect(psql("SELECT allowed, remaining, retry_after_ms FROM spillway_consume('psql', 10, '1d', 10, 11)")).toBe(
    'f|6|Infinity',
  )
  expect(psql(`SELECT remaining FROM spillway_consume('psql', "limit" => 10, per => '24 hours', policy => 'b')`)).toBe(
    '9',
  )
})

test('shares its quota with a limiter of the same name', async () => {
  const limiter = rateLimiter({ quota: perDay(10), store: unhurried(pool), name: 'api/v1', deadline: '25s' })
  expect(await limiter.consume('alice', 4)).toMatchObject({ remaining: 6 })
  expect(await call('alice', 10, '1 day', 10, 5, 'api/v1')).toMatchObject({ allowed: true, remaining: '1' })
  expect(await limiter.consume('alice', 2)).toMatchObject({ allowed: false, remaining: 1 })
  const { allowed, remaining, retry_after_ms } = await call('alice', 10, '1 day', 10, 2, 'api/v1')
  expect([allowed, remaining]).toEqual([false, '1'])
  expect((await limiter.peek('alice', 2)).retryAfterMs).toBeLessThanOrEqual(retry_after_ms)
  await limiter.refund('alice', 9)
  expect(await call('alice', 10, '1 day', 10, 10, 'api/v1')).toMatchObject({ allowed: true, remaining: '0' })
})

test('allows exactly the burst of many concurrent calls, over several connections and beside a limiter', async () => {
  const limiter = rateLimiter({ quota: perDay(20), store: unhurried(pool), deadline: '25s' })
  const answers = await Promise.all(
    Array.from(
      { length: 40 },
      async (_, i) => (i % 2 ? await limiter.consume('hot') : await call('hot', 20, '1 day')).allowed,
    ),
  )
  expect(answers.filter(Boolean)).toHaveLength(20)
})

test('finds keys with any characters', async () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter((each) => !each.includes('\u0000'))
  const awkward = [
    '#',
    'a#',
    '%2F/',
    '/'.repeat(134),
    'k'.repeat(200),
    'k'.repeat(201),
    'p'.repeat(400),
    'p'.repeat(401),
  ]
  const any = fc.oneof(
    text,
    text.map((each) => each.repeat(50)),
    fc.constantFrom(...awkward),
  )
  await fc.assert(
    fc.asyncProperty(any, any, async (policy, key) => {
      const { rows } = await pool.query('SELECT spillway_state_name($1, $2) AS name', [policy, key])
      expect(rows).toEqual([{ name: rowName({ policy, key }) }])
    }),
    { numRuns: runsOf(50) },
  )
})

test('writes the same state as the store, for any rate that core accepts', async () => {
  const pers = ['1 second', '10 seconds', '1 minute', '90 minutes', '1 day', '1.5 seconds'] as const
  const micros = [1e6, 10e6, 60e6, 5_400e6, 86_400e6, 1.5e6]
  const calls = fc.record({
    limit: fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 1_000_000_000 })),
    per: fc.nat(pers.length - 1),
    burst: fc.integer({ min: 1, max: 1_000 }),
    cost: fc.integer({ min: 1, max: 1_001 }),
  })
  await fc.assert(
    fc.asyncProperty(calls, async ({ limit, per, burst, cost }) => {
      const quota = tokenBucket({ limit, per: (micros[per] as number) / 1000, burst })
      await pool.query('DELETE FROM spillway')
      const { allowed, remaining, retry_after_ms, reset_after_ms } = await call('a', limit, pers[per], burst, cost)
      expect(allowed).toBe(cost <= burst)
      expect(retry_after_ms).toBe(allowed ? 0 : Infinity)
      expect(reset_after_ms).toBe(allowed ? Math.ceil((cost * quota.ticksPerUnit) / quota.scale) / 1000 : 0)
      expect(Number(remaining)).toBe(allowed ? burst - cost : burst)
    }),
    { numRuns: runsOf(50) },
  )
})

describe('rejects', () => {
  test.each<[string, unknown[], string]>([
    ['no key', [null, 1, '1s'], 'key must be a non-empty text that says whom to count; got NULL'],
    ['an empty key', ['', 1, '1s'], "got ''"],
    ['no limit', ['a', null, '1s'], 'limit must be a whole number from 1 to 3000000000000000; got NULL'],
    ['a limit of 0', ['a', 0, '1s'], 'got 0'],
    ['a negative burst', ['a', 1, '1s', -1], 'burst must be a whole number from 1 to 3000000000000000; got -1'],
    ['a cost of 0', ['a', 1, '1s', 1, 0], 'cost must be a whole number from 1 to 3000000000000000; got 0'],
    ['no period', ['a', 1, null], 'per must be a span from 1 microsecond to 95 years'],
    ['a period of 0', ['a', 1, '0'], 'got 00:00:00'],
    ['a month', ['a', 1, '1 month'], 'as a month has no fixed length; got 1 mon'],
    ['centuries', ['a', 1, '40000 days'], 'per must be a span'],
    ['a bucket of centuries', ['a', 1, '1 day', 40_000], 'over 95 years'],
    ['an empty policy', ['a', 1, '1s', 1, 1, ''], 'policy must be the name of a limiter'],
  ])('%s, and says what to write', async (_, values, message) => {
    const hint = expect.stringContaining('public.spillway_consume(key, limit')
    const denied = { code: '22023', message: expect.stringContaining(message), hint }
    await expect(call(...values)).rejects.toMatchObject(denied)
  })
})

test('exists for each table, also in PGlite', async () => {
  const lite = new PGlite()
  await migrate(lite, { schema: 'limits', table: 'quotas' })
  const { rows } = await lite.query(`SELECT * FROM limits.quotas_consume('a', 5, '1 day')`)
  expect(rows).toEqual([{ allowed: true, remaining: 4, retry_after_ms: 0, reset_after_ms: 17_280_000 }])
  const limiter = rateLimiter({
    quota: perDay(5),
    store: postgresStore(lite, { schema: 'limits', table: 'quotas', deadline: '30s' }),
    deadline: '30s',
  })
  expect(await limiter.consume('a')).toMatchObject({ remaining: 3 })
  await lite.close()
}, 120_000)
