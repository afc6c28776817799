import '../src/index.ts'
import { type PgQuery, postgresStore } from '@spillway/postgres'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../test/services/postgres.ts'
import { PostgresServer, ServerError } from '../src/postgres/server.ts'
import { statementOf } from '../src/postgres/statement.ts'
import { World } from '../src/runtime/world.ts'
import { histories, play, TICK, tick } from './histories.ts'

// The simulated server is as true as its answers: it gets the statements that a real one gets, and must answer the same.

let server: Postgres
let pool: pg.Pool
beforeAll(async () => {
  server = await startPostgres()
  pool = new pg.Pool({ ...server.config, max: 1 })
  await postgresStore(pool, { deadline: '20s' }).delete([])
}, 120_000)
afterAll(async () => {
  await pool.end()
  await server.stop()
})

/** A pool that sends each statement to the real server and to a simulated one, and compares the rows. */
async function bothServers() {
  await pool.query('DELETE FROM spillway')
  const simulated = new PostgresServer(new World(1), 'simulated', { wrote: () => {}, lost: () => {}, swept: () => {} })
  simulated.run(statementOf({ text: 'the migration' }), () => {})
  let compared = 0
  const query = async (query: PgQuery) => {
    const { rows } = await pool.query<object>(query)
    simulated.run(statementOf(query), (result) => {
      if (result instanceof ServerError) throw result
      if (query.text.includes('version')) return
      expect(result.rows).toEqual(rows)
      compared++
    })
    return { rows }
  }
  const client = { query, release: () => {}, on: () => {}, off: () => {} }
  return { both: { connect: async () => client }, simulated, compared: () => compared }
}

test('a simulated server answers what a real one does, for any history of every quota', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (calls) => {
      const { both, simulated, compared } = await bothServers()
      const store = postgresStore(both, { coalesce: false, deadline: '20s' })
      await play(store, calls)
      const { rows } = await pool.query<{ name: string; expires: string }>('SELECT name, expires FROM spillway')
      expect(rows.map(({ name }) => simulated.expiresAt(name))).toEqual(rows.map(({ expires }) => Number(expires)))
      await store.delete([{ policy: 'p0', key: 'a' }])
      expect(await store.deleteAll?.(['p0', 'p1', 'p2'])).toBeLessThanOrEqual(6)
      expect(compared()).toBe(calls.length + 4)
    }),
    { numRuns: 60 },
  )
}, 240_000)

test('the calls of a tick are answered alike, too', async () => {
  const { both, compared } = await bothServers()
  expect(await tick(postgresStore(both, { deadline: '20s' }))).toEqual(TICK)
  expect(compared()).toBeGreaterThan(0)
})
