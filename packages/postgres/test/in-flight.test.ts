import { testInFlight } from '../../../test/in-flight/stories.ts'
import { postgresStore } from '../src/index.ts'
import { pool, server } from './database.ts'

testInFlight(() => ({
  connection: server.config,
  store: postgresStore(pool),
  async now() {
    const { rows } = await pool.query('SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::int8 AS now')
    return Number(rows[0].now)
  },
}))
