// The effect on a limiter if it shares its connection pool with the app.

import { perHour, rateLimiter } from '@spillway/core'
import { postgresStore } from '@spillway/postgres'
import pg from 'pg'
import { startPostgres } from '../test/services/postgres.ts'
import { type Case, exactly, type Row } from './table.ts'

const REQUESTS = 1_000
const EVERY_MS = 10
const CALLERS = 40
const QUERY_MS = 20
const [SHARED, OWN] = ['the app’s pool of 10', 'a pool of 4 of its own']
const WITHOUT = 'decided without the store, of 1,000'

/** Keeps a pool busy until it is stopped: callers that each send one query after another. */
function busy(pool: pg.Pool): () => Promise<unknown> {
  let ends = false
  const caller = async (): Promise<void> => {
    while (!ends) await pool.query('SELECT pg_sleep($1)', [QUERY_MS / 1_000])
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, caller))
  return () => {
    ends = true
    return callers
  }
}

/** The number of requests that were decided without the store. Requests are sent one after the other. */
async function undecided(pool: pg.Pool, name: string): Promise<number> {
  const options = { name, quota: perHour(1_000_000), store: postgresStore(pool), logger: { warn: () => {} } }
  await rateLimiter({ ...options, deadline: '20s' }).consume('a')
  const limiter = rateLimiter(options)
  const startMs = performance.now()
  const requests = Array.from({ length: REQUESTS }, async (_, i) => {
    const leftMs = startMs + i * EVERY_MS - performance.now()
    await new Promise((resolve) => setTimeout(resolve, leftMs))
    return limiter.consume(`${i % 100}`)
  })
  return (await Promise.all(requests)).filter(({ degraded }) => degraded).length
}

export const pools: Case = async (progress) => {
  const server = await startPostgres()
  const app = new pg.Pool({ ...server.config, max: 10 })
  const own = new pg.Pool({ ...server.config, max: 4 })
  const stop = busy(app)
  const rows: Row[] = []
  for (const [name, pool] of [
    [SHARED, app],
    [OWN, own],
  ] as const) {
    rows.push({ name, figures: [exactly(await undecided(pool, name === OWN ? 'own' : 'shared'))] })
    progress(rows.length / 2)
  }
  await stop()
  await Promise.all([app.end(), own.end()])
  await server.stop()
  return {
    title: 'A decision in PostgreSQL beside a busy app',
    how: `${CALLERS} callers keep the app’s pool of 10 connections busy with queries of ${QUERY_MS} ms. Meanwhile a request comes every ${EVERY_MS} ms, with the default deadline of 50 ms. What is not decided in time by the store is counted locally.`,
    columns: [WITHOUT],
    rows,
    targets: [{ ours: OWN, column: WITHOUT, atMost: 10 }],
  }
}
