// PostgreSQL: decisions a second of ours, rate-limiter-flexible's and the published token bucket function (seed 003), in
// one run on one server that writes to its disk. `npx tsx bench/postgres.ts [seconds each] [rounds]`

import { perSecond, rateLimiter } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import pg from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import { startPostgres } from '../test/services/postgres.ts'
import { publishedSql } from '../test/services/postgres-seed.ts'

const [seconds = 1.5, rounds = 3, only] = process.argv.slice(2).map(Number)
const CONNECTIONS = 8
const FAR_AWAY = 1_000_000_000

interface Rival {
  readonly name: string
  readonly ask: (key: string) => Promise<unknown>
}

const server = await startPostgres({ settings: { fsync: 'on', shared_buffers: '128MB', autovacuum: 'off' } })
const poolFor = (isolation: string): pg.Pool =>
  new pg.Pool({
    ...server.config,
    max: CONNECTIONS,
    options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`,
  })
const pool = poolFor('read committed')
const strict = poolFor('serializable')

async function flexible(tableName: string, unlogged = false): Promise<Rival['ask']> {
  const limiter = await new Promise<RateLimiterPostgres>((resolve, reject) => {
    const options = { storeClient: pool, tableName, points: FAR_AWAY, duration: 3600, clearExpiredByTimeout: false }
    const made = new RateLimiterPostgres(options, (error) => (error ? reject(error) : resolve(made)))
  })
  if (unlogged) await pool.query(`ALTER TABLE ${tableName} SET UNLOGGED`)
  return (key) => limiter.consume(key)
}

function ours(table: string, options: object, quota = perSecond(1_000_000)): Rival['ask'] {
  const limiter = rateLimiter({
    quota,
    store: postgresStore(pool, { table, deadline: '10s', ...options }),
    deadline: '10s',
  })
  return (key) => limiter.consume(key)
}

const published = (from: pg.Pool) => (key: string) =>
  from.query('SELECT rate_limiting_token_bucket_request($1, 100000, 3600)', [key])

await pool.query(publishedSql)
const never = perSecond(1, { burst: 1 })
const rivals: readonly Rival[] = [
  { name: 'SELECT 1 (a round trip)', ask: () => pool.query('SELECT 1') },
  { name: 'published function, SERIALIZABLE', ask: published(strict) },
  { name: 'published function, READ COMMITTED', ask: published(pool) },
  { name: 'rate-limiter-flexible', ask: await flexible('flexible') },
  { name: 'rate-limiter-flexible, unlogged', ask: await flexible('flexible_unlogged', true) },
  { name: 'spillway, one statement a take', ask: ours('plain', { coalesce: false }) },
  { name: 'spillway, one prepared statement a take', ask: ours('prepared', { coalesce: false, prepare: true }) },
  { name: 'spillway, one a take, async', ask: ours('plain_async', { coalesce: false, durability: 'async' }) },
  { name: 'spillway, coalesced', ask: ours('coalesced', {}) },
  { name: 'spillway, coalesced, async', ask: ours('coalesced_async', { durability: 'async' }) },
  { name: 'spillway, one a take, refused', ask: ours('refused', { coalesce: false }, never) },
]

interface Result {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly errors: number
}

/** Callers that ask again as soon as they are answered. */
async function measure({ ask }: Rival, keys: number, callers: number, length: number): Promise<Result> {
  const times: number[] = []
  let errors = 0
  const start = performance.now()
  const end = start + length * 1000
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now < end; ) {
      const key = `key-${Math.floor(Math.random() * keys)}`
      await ask(key).then(
        () => times.push(performance.now() - now),
        () => errors++,
      )
      now = performance.now()
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
  return { rate: times.length / ((performance.now() - start) / 1000), p50: at(0.5), p99: at(0.99), errors }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const { rows } = await pool.query('SHOW server_version')
console.log(`PostgreSQL ${rows[0].server_version}, Node ${process.version}, ${CONNECTIONS} connections, fsync on`)
for (const [keys, callers] of [
  [1, 8],
  [1, 64],
  [10_000, 8],
  [10_000, 64],
].slice(0, only) as [number, number][]) {
  const results = new Map<Rival, Result[]>(rivals.map((rival) => [rival, []]))
  for (const rival of rivals) await measure(rival, keys, callers, 0.3)
  for (let round = 0; round < rounds; round++) {
    // There and back: whatever drifts while it runs falls on all alike.
    for (const rival of round % 2 ? rivals.toReversed() : rivals)
      results.get(rival)?.push(await measure(rival, keys, callers, seconds))
  }
  const rate = (rival: Rival): number => median((results.get(rival) ?? []).map((result) => result.rate))
  const base = rate(rivals.find(({ name }) => name === 'rate-limiter-flexible') as Rival)
  console.log(`\n${keys === 1 ? 'one hot key' : `${keys} keys`}, ${callers} callers`)
  console.table(
    rivals.map((rival) => {
      const all = results.get(rival) ?? []
      return {
        what: rival.name,
        'decisions/s': Math.round(rate(rival)),
        'p50 ms': Number(median(all.map(({ p50 }) => p50)).toFixed(2)),
        'p99 ms': Number(median(all.map(({ p99 }) => p99)).toFixed(2)),
        'vs flexible': Number((rate(rival) / base).toFixed(2)),
        errors: all.reduce((sum, { errors }) => sum + errors, 0),
      }
    }),
  )
}
await Promise.all([pool.end(), strict.end()])
await server.stop()
