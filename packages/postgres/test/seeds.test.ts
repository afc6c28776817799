import { START } from '@spillway/conformance'
import { perSecond, type RateLimiter, rateLimiter, type Store, type Taken, tokenBucket } from '@spillway/core'
import { stepFor } from '@spillway/core/internal'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { publishedSql } from '../../../test/services/postgres-seed.ts'
import { migrate } from '../src/index.ts'
import { unhurried } from './unhurried.ts'

// Compares a token bucket that was published for PostgreSQL and YugabyteDB, verbatim, with this store. Each test first
// shows a bug of the published function. Its time passes by moving its last call back; this store's time is an argument.

let server: Postgres
let pool: pg.Pool
let strict: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 8 })
  strict = new pg.Pool({ ...server.config, max: 8, options: '-c default_transaction_isolation=serializable' })
  await pool.query(publishedSql)
  await migrate(pool)
})
beforeEach(() => pool.query('TRUNCATE rate_limiting_token_bucket, spillway'))
afterAll(async () => {
  await pool.end()
  await strict.end()
  await server.stop()
})

/** Calls the published function. Returns the remaining units, or -1. */
async function published(rate: number, window: number, key = 'user1', from: pg.Pool = pool): Promise<number> {
  const { rows } = await from.query('SELECT rate_limiting_token_bucket_request($1, $2, $3) AS left', [
    key,
    rate,
    window,
  ])
  return rows[0].left
}

const laterSql = (seconds: number): string =>
  `UPDATE rate_limiting_token_bucket SET ts = clock_timestamp() - ${seconds} * interval '1 second'`

const later = (seconds: number): Promise<unknown> => pool.query(laterSql(seconds))

/** Calls the published function `seconds` later at one unit per second, in one round trip, to measure no latency. */
async function publishedLater(seconds: number): Promise<number> {
  const both = `${laterSql(seconds)}; SELECT rate_limiting_token_bucket_request('user1', 1, 2) AS left`
  const [, { rows }] = (await pool.query(both)) as unknown as readonly [unknown, { rows: readonly [{ left: number }] }]
  return rows[0].left
}

/** Results of this store for calls that are `everySeconds` apart. */
async function ours(limit: number, burst: number, calls: number, everySeconds: number): Promise<readonly Taken[]> {
  const store = unhurried(pool)
  const step = stepFor(perSecond(limit, { burst }), 'consume', 1)
  const answers: Taken[] = []
  for (let i = 0; i < calls; i++) {
    const at = START + Math.round(i * everySeconds * 1e6)
    answers.push(...(await store.take([{ policy: 'p', key: 'user1', step }], at)))
  }
  return answers
}

const allowed = (answers: readonly Taken[]): number => answers.filter((taken) => taken.allowed).length

describe('the published function', () => {
  test.each([0.45, 1, 1.4])('starves a client that polls every %s s, and ours does not', async (seconds) => {
    for (let i = 0; i < 3; i++) await published(1, 2)
    let passed = 0
    for (let i = 0; i < 30; i++) {
      if ((await publishedLater(seconds)) >= 0) passed++
    }
    expect(passed).toBe(0)
    expect(allowed(await ours(1, 2, 30, seconds))).toBeGreaterThanOrEqual(Math.floor(29 * Math.min(seconds, 1)))
  })

  test.each([
    { rate: 1, window: 5, seconds: 0.55, calls: 21 },
    { rate: 2, window: 3, seconds: 0.26, calls: 32 },
  ])('rounds up and admits up to twice the rate, $rate a second', async ({ rate, window, seconds, calls }) => {
    let passed = 0
    for (let i = 0; i < calls; i++) {
      if ((await published(rate, window)) >= 0) passed++
      await later(seconds)
    }
    const promised = rate * window + Math.floor(rate * seconds * (calls - 1))
    expect(passed).toBe(calls)
    expect(promised).toBeLessThan(calls)
    expect(allowed(await ours(rate, rate * window, calls, seconds))).toBe(promised)
  })

  test('credits the same seconds again at each call of a transaction, and ours once', async () => {
    const client = await pool.connect()
    await client.query('BEGIN')
    await client.query(`SELECT rate_limiting_token_bucket_request('user1', 10, 1)`)
    // Needs real time: the bug is that two clocks of the server drift apart in a transaction.
    await client.query('SELECT pg_sleep(0.5)')
    let passed = 0
    for (let i = 0; i < 40; i++) {
      const { rows } = await client.query(`SELECT rate_limiting_token_bucket_request('user1', 10, 1) AS left`)
      if (rows[0].left >= 0) passed++
    }
    await client.query('ROLLBACK')
    client.release()
    expect(passed).toBe(40)
    const store = unhurried(pool)
    const step = stepFor(perSecond(10), 'consume', 1)
    const ask = (after: number) => store.take([{ policy: 'p', key: 'user1', step }], START + after)
    await ask(0)
    let ofOurs = 0
    for (let i = 0; i < 40; i++) if ((await ask(500_000))[0]?.allowed) ofOurs++
    expect(ofOurs).toBe(10)
  })

  test('does not charge the first call after a pause, and ours does', async () => {
    await published(1, 3)
    await later(6)
    expect(await published(1, 3)).toBe(3)
    const answers = await ours(1, 3, 2, 6)
    expect(answers).toMatchObject([{ tat: START + 1e6 }, { tat: START + 7e6 }])
  })

  test.each([
    { race: 'a new key', isolation: 'READ COMMITTED', cold: true, code: '23505' },
    { race: 'a hot key', isolation: 'SERIALIZABLE', cold: false, code: '40001' },
  ])('fails who waits for $race at $isolation, and ours waits', async ({ isolation, cold, code }) => {
    const client = await pool.connect()
    /** Sends the second call while the first one's transaction locks the row, and commits the first once the second waits. */
    const meet = async (first: () => Promise<unknown>, second: () => Promise<unknown>): Promise<unknown> => {
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
      await first()
      const waiter = second().catch((error) => error.code)
      const held = async () => (await pool.query('SELECT count(*) FROM pg_locks WHERE NOT granted')).rows[0].count
      while ((await held()) === '0');
      await client.query('COMMIT')
      return waiter
    }
    const from = isolation === 'SERIALIZABLE' ? strict : pool
    if (!cold) await published(10, 10)
    const query = `SELECT rate_limiting_token_bucket_request('user1', 10, 10)`
    expect(
      await meet(
        () => client.query(query),
        () => published(10, 10, 'user1', from),
      ),
    ).toBe(code)

    const step = stepFor(perSecond(1, { burst: 2 }), 'consume', 1)
    const lent = { query: client.query.bind(client), on: client.on.bind(client), off: client.off.bind(client) }
    const inside = unhurried({ connect: async () => ({ ...lent, release: () => {} }) })
    const outside = unhurried(from)
    const take = (store: Store) => store.take([{ policy: 'p', key: 'user1', step }], START)
    if (!cold) await take(outside)
    expect(
      await meet(
        () => take(inside),
        () => take(outside),
      ),
    ).toMatchObject([{ allowed: cold }])
    client.release()
  })

  test('overflows at a million units per second, and ours never does', async () => {
    await expect(published(1_000_000, 3_600)).rejects.toThrow('integer out of range')
    const limiter = rateLimiter({
      name: 'million',
      quota: perSecond(1_000_000, { burst: 1_000_000_000 }),
      store: unhurried(pool),
      deadline: '25s',
    })
    expect(await limiter.consume('user1', 1_000_000)).toMatchObject({ allowed: true, limit: 1_000_000_000 })
  })

  test('writes a row version per denial, reports no wait and never deletes rows; ours has cost, peek and wait', async () => {
    const versions = async (table: string): Promise<unknown> =>
      (await pool.query(`SELECT ctid, xmin FROM ${table}`)).rows
    for (let i = 0; i < 3; i++) await published(1, 2)
    const before = await versions('rate_limiting_token_bucket')
    expect(await published(1, 2)).toBe(-1)
    expect(await versions('rate_limiting_token_bucket')).not.toEqual(before)

    const limiter: RateLimiter = rateLimiter({
      quota: tokenBucket({ limit: 1, per: '1h' }),
      store: unhurried(pool),
      deadline: '25s',
    })
    await limiter.consume('user1')
    const kept = await versions('spillway')
    const denied = await limiter.consume('user1')
    expect(denied.allowed).toBe(false)
    expect(denied.retryAfterMs).toBeGreaterThan(3_500_000)
    expect(await limiter.peek('user1')).toMatchObject({ allowed: false, remaining: 0 })
    expect(await versions('spillway')).toEqual(kept)
  })
})
