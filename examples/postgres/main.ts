// A day's exports of each account, counted in the PostgreSQL that is there already: all processes count as one, and a
// deploy forgets nothing.

import { pathToFileURL } from 'node:url'
import { memoryStore, perDay, perSecond, rateLimit } from '@spillway/fastify'
import { migrate, postgresStore } from '@spillway/postgres'
import fastify, { type FastifyInstance } from 'fastify'
import { Pool, type PoolConfig } from 'pg'

/** The app, over the database that this leads to. */
export async function build(config: PoolConfig = {}): Promise<FastifyInstance> {
  const pool = new Pool({ max: 4, ...config }) // the limiter's own: the app's queries use another
  pool.on('error', ({ message }) => console.error(`postgres: ${message}`))
  await migrate(pool) // before anybody waits for it
  // An export takes seconds by itself: it may as well wait for a database that is busy.
  const deadline = '5s'
  const store = postgresStore(pool, { deadline, sweepEvery: '10m' })

  const app = fastify()
  app.addHook('onClose', async () => {
    store.close()
    await pool.end()
  })
  app.addHook(
    'onRequest',
    rateLimit({
      policies: [
        // A flood is refused here, and never gets as far as the database.
        { name: 'burst', key: 'header:x-account', quota: perSecond(20), store: memoryStore() },
        { name: 'exports', key: 'header:x-account', quota: perDay(50), cost: 'query:files', maxCost: 50, store },
      ],
      deadline,
      // What is sold by the piece is not given away while the database is down.
      onStoreError: 'deny',
    }),
  )
  app.get('/export', async (_, reply) => reply.type('text/csv').send('id,name\n'))
  return app
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const app = await build() // by PGHOST, PGUSER and their like
  await app.listen({ port: 3000 })
  console.log('http://localhost:3000/export')
}
