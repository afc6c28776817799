// The cost of a decision in PostgreSQL, compared with rate-limiter-flexible and the published token buckets function.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { perSecond, rateLimiter } from '@spillway/core'
import { type PostgresStoreOptions, postgresStore } from '@spillway/postgres'
import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { type Postgres, startPostgres } from '../test/services/postgres.ts'
import { publishedSql } from '../test/services/postgres-seed.ts'
import { type Candidate, measure } from './measure.ts'
import { pools } from './pool.ts'
import { remainder } from './remainder.ts'
import { spent } from './spent.ts'
import { type Case, exactly, scaled, type Table, type Target } from './table.ts'
import { workloads } from './workloads.ts'

const FLEXIBLE = 'rate-limiter-flexible'
const PLAIN = 'spillway, not batched'
const PREPARED = 'spillway, prepared, not batched'
const ASYNC = 'spillway, not batched, async'
const COALESCED = 'spillway'
const BY_HAND = 'a hand-written bucket'
const BY_HAND_PREPARED = 'a hand-written bucket, prepared'
const BY_HAND_ASYNC = 'a hand-written bucket, async'
const RATIO = 'times rate-limiter-flexible'
const ERRORS = 'errors in 1,000'

const CONNECTIONS = 8
/** A quota that denies nothing. */
const AMPLE = { limit: 1_000_000, burst: 1_000_000_000 }
/** A quota that denies all but the first request. */
const SCANT = { limit: 1, burst: 1 }
type Terms = typeof AMPLE

type Ask = (key: string) => Promise<unknown>

/** A server that writes to disk, and pools that all candidates share. */
interface Database {
  readonly pool: pg.Pool
  /** Its transactions are serializable, as the published function requires. */
  readonly strict: pg.Pool
  /** Its transactions do not wait for the disk. */
  readonly async: pg.Pool
  /** The parent of all server processes. */
  readonly pid: number
  close(): Promise<void>
}

async function database(): Promise<Database> {
  const settings = { fsync: 'on', shared_buffers: '128MB', autovacuum: 'off' }
  const server: Postgres = await startPostgres({ settings })
  const pool = new pg.Pool({ ...server.config, max: CONNECTIONS })
  const options = '-c default_transaction_isolation=serializable'
  const strict = new pg.Pool({ ...server.config, max: CONNECTIONS, options })
  const async = new pg.Pool({ ...server.config, max: CONNECTIONS, options: '-c synchronous_commit=off' })
  await pool.query(publishedSql)
  return {
    pool,
    strict,
    async,
    pid: Number.parseInt(readFileSync(join(server.folder, 'data/postmaster.pid'), 'utf8'), 10),
    async close() {
      await Promise.all([pool.end(), strict.end(), async.end()])
      await server.stop()
    },
  }
}

async function flexible({ pool }: Database, { burst }: Terms, table: string, unlogged = false): Promise<Ask> {
  const terms = { storeClient: pool, tableName: table, points: burst, duration: 3600, clearExpiredByTimeout: false }
  const limiter = await new Promise<RateLimiterPostgres>((resolve, reject) => {
    const made = new RateLimiterPostgres(terms, (error) => (error ? reject(error) : resolve(made)))
  })
  if (unlogged) await pool.query(`ALTER TABLE ${table} SET UNLOGGED`)
  // It also rejects for a denial, with a value that is not an error.
  return (key) =>
    limiter.consume(key).catch((denial: unknown) => {
      if (denial instanceof Error) throw denial
    })
}

function ours({ pool }: Database, terms: Terms, table: string, options: PostgresStoreOptions): Ask {
  const quota = perSecond(terms.limit, { burst: terms.burst })
  const store = postgresStore(pool, { table, deadline: '30s', ...options })
  const limiter = rateLimiter({ quota, store, deadline: '30s', onStoreError: 'throw' })
  return (key) => limiter.consume(key)
}

const published =
  (pool: pg.Pool, { limit }: Terms): Ask =>
  (key) =>
    pool.query('SELECT rate_limiting_token_bucket_request($1, $2, 2)', [key, limit])

/**
 * A bucket as one statement, which denies if there is no room. It has one quota, no expiry, and reads the clock before it
 * locks the row.
 */
async function baseline(pool: pg.Pool, { limit, burst }: Terms, table: string, { prepare = false } = {}): Promise<Ask> {
  await pool.query(`CREATE TABLE ${table} (name text PRIMARY KEY, full_at int8 NOT NULL) WITH (fillfactor = 50)`)
  const now = '(extract(epoch FROM clock_timestamp()) * 1000000)::int8'
  const unit = 1_000_000 / limit
  const text = `
    INSERT INTO ${table} AS t (name, full_at) VALUES ($1, ${now} + ${unit})
    ON CONFLICT (name) DO UPDATE SET full_at = greatest(t.full_at, excluded.full_at - ${unit}) + ${unit}
    WHERE t.full_at <= excluded.full_at - ${unit} + ${(burst - 1) * unit} RETURNING full_at`
  const query = prepare ? { name: table, text } : { text }
  return (key) => pool.query({ ...query, values: [key] })
}

async function asksOf(db: Database, terms: Terms): Promise<Readonly<Record<string, Ask>>> {
  return {
    [FLEXIBLE]: await flexible(db, terms, 'flexible'),
    'rate-limiter-flexible, unlogged': await flexible(db, terms, 'flexible_unlogged', true),
    'the published function': published(db.pool, terms),
    'the published function, serializable': published(db.strict, terms),
    [PLAIN]: ours(db, terms, 'plain', { coalesce: false }),
    [PREPARED]: ours(db, terms, 'prepared', { coalesce: false, prepare: true }),
    [ASYNC]: ours(db, terms, 'plain_async', { coalesce: false, durability: 'async' }),
    [COALESCED]: ours(db, terms, 'coalesced', {}),
    'spillway, async': ours(db, terms, 'coalesced_async', { durability: 'async' }),
    'spillway, unlogged': ours(db, terms, 'coalesced_unlogged', { durability: 'unlogged' }),
    [BY_HAND]: await baseline(db.pool, terms, 'hand'),
    [BY_HAND_PREPARED]: await baseline(db.pool, terms, 'hand_prepared', { prepare: true }),
    [BY_HAND_ASYNC]: await baseline(db.async, terms, 'hand_async'),
    'SELECT 1': () => db.pool.query('SELECT 1'),
  }
}

/** Concurrent callers. Each sends its next call after a result, and repeats the key after an error. */
function candidate(name: string, ask: Ask, callers: number): { readonly counted: Candidate; errors(): number } {
  let [decisions, errors] = [0, 0]
  const call = async (key: string): Promise<void> => {
    for (let answered = false; !answered; decisions++) {
      answered = await ask(key).then(
        () => true,
        () => false,
      )
      if (!answered) errors++
    }
  }
  return {
    errors: () => (errors / decisions) * 1_000,
    counted: {
      name,
      run: async (keys, from, to) => {
        let next = from
        const caller = async (): Promise<void> => {
          while (next < to) await call(keys[next++] as string)
        }
        await Promise.all(Array.from({ length: callers }, caller))
      },
    },
  }
}

interface Setting {
  readonly workload: 'hot' | 'many'
  readonly callers: number
  readonly terms?: Terms
  readonly targets: readonly Target[]
}

/**
 * The number of decisions per turn: few, because writes to disk are slow, and a multiple of the 8 or 64 callers, so that
 * no turn ends with single callers.
 */
const TURN = 640
/** The number of keys. */
const KEYS = { hot: TURN, many: 10_000 }

async function decisions(
  { workload, callers, terms = AMPLE, targets }: Setting,
  progress: (share: number) => void,
): Promise<Table> {
  const db = await database()
  const all = Object.entries(await asksOf(db, terms)).map(([name, ask]) => candidate(name, ask, callers))
  const { name, keys } = workloads[workload]()
  const [reference, ...others] = all.map(({ counted }) => counted)
  const options = { seconds: 40, chunk: TURN, progress }
  const results = await measure(reference as Candidate, others, keys.slice(0, KEYS[workload]), options)
  await db.close()
  const denied = terms === SCANT ? ', denied' : ''
  return {
    title: `A decision in PostgreSQL: ${name}, ${callers === 1 ? 'one caller' : `${callers} callers`}${denied}`,
    how: `One server that waits for its disk, and one process with ${CONNECTIONS} connections; each candidate and rate-limiter-flexible alternate in turns of ${TURN} decisions.`,
    columns: [RATIO, 'µs each', ERRORS],
    rows: results.map(({ name, ratio, nanos }, i) => ({
      name,
      figures: [ratio, scaled(nanos, 1 / 1_000), exactly(all[i]?.errors() ?? 0)],
    })),
    targets,
  }
}

async function shares(progress: (share: number) => void): Promise<Table> {
  const db = await database()
  const { keys } = workloads.many()
  const runs = Object.entries(await asksOf(db, AMPLE)).map(([name, ask]) => {
    const { counted } = candidate(name, ask, CONNECTIONS)
    return [name, async (decisions: number) => counted.run(keys, 0, decisions)] as const
  })
  const table = await spent(
    {
      title: `CPU time of a decision in PostgreSQL: 10,000 keys, ${CONNECTIONS} callers`,
      how: 'CPU time of the server and of the calling process; all alternate in turns of 800 decisions. Waiting for the disk is not included.',
    },
    db.pid,
    Object.fromEntries(runs),
    8_000,
    progress,
  )
  await db.close()
  return table
}

const target = (ours: string, atMost: number): Target => ({ ours, theirs: FLEXIBLE, column: RATIO, atMost })
const each: readonly Target[] = [
  { ...target(PLAIN, 1), baseline: BY_HAND },
  { ...target(PREPARED, 1), baseline: BY_HAND_PREPARED },
  { ...target(ASYNC, 1 / 2.5), baseline: BY_HAND_ASYNC },
]
const flawless = [PLAIN, ASYNC, COALESCED].map((ours): Target => ({ ours, column: ERRORS, atMost: 0 }))

export const processes = 2

export const cases: Readonly<Record<string, Case>> = {
  hot: (progress) => {
    const targets = [...each, target(COALESCED, 1 / 5.3), ...flawless]
    return decisions({ workload: 'hot', callers: 8, targets }, progress)
  },
  crowd: (progress) => {
    const targets = [...each, target(COALESCED, 1 / 28), ...flawless]
    return decisions({ workload: 'hot', callers: 64, targets }, progress)
  },
  one: (progress) => decisions({ workload: 'many', callers: 1, targets: each }, progress),
  many: (progress) => {
    const targets = [...each, ...flawless]
    return decisions({ workload: 'many', callers: 8, targets }, progress)
  },
  'many-crowd': (progress) => {
    const targets = [...each, target(COALESCED, 1 / 1.5), ...flawless]
    return decisions({ workload: 'many', callers: 64, targets }, progress)
  },
  shares,
  denied: (progress) =>
    decisions({ workload: 'hot', callers: 8, terms: SCANT, targets: [target(COALESCED, 1), ...flawless] }, progress),
  pools,
  remainder: remainder.postgres,
}
