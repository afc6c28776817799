// Each account's exports of a day, counted in the app's own PostgreSQL: all processes share one count, and a deploy does
// not reset it.

import { pathToFileURL } from 'node:url'
import { memoryStore, perDay, perSecond, rateLimit } from '@spillway/fastify'
import { migrate, postgresStore } from '@spillway/postgres'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { Pool, type PoolConfig } from 'pg'

/** The app for these accounts, by API key, with the database of this configuration. */
export async function build(accounts: ReadonlyMap<string, string>, config: PoolConfig = {}): Promise<FastifyInstance> {
  const pool = new Pool({ max: 4, ...config }) // the limiter's own pool: the app's queries use another one
  pool.on('error', ({ message }) => console.error(`postgres: ${message}`))
  await migrate(pool) // before the first request
  // An export lasts for seconds anyway, so it can wait for a busy database.
  const deadline = '5s'
  const store = postgresStore(pool, { deadline, sweepEvery: '10m' })

  const app = fastify()
  app.addHook('onClose', async () => {
    store.close()
    await pool.end()
  })

  // Verify the API key first: an unverified key must not select the account that is charged.
  const accountOf = ({ headers }: FastifyRequest) => accounts.get(headers.authorization?.replace(/^Bearer /, '') ?? '')
  app.addHook('onRequest', async (request, reply) => {
    if (accountOf(request) === undefined) await reply.code(401).send({ error: 'Unknown API key.' })
  })

  app.addHook(
    'onRequest',
    rateLimit({
      policies: [
        // Denies a flood in memory, so that it does not reach the database.
        { name: 'burst', key: accountOf, quota: perSecond(20), store: memoryStore() },
        { name: 'exports', key: accountOf, quota: perDay(50), cost: 'query:files', maxCost: 50, store },
      ],
      deadline,
      // Exports are paid for, so they are denied while the database is down.
      onStoreError: 'deny',
    }),
  )
  app.get('/export', async (_, reply) => reply.type('text/csv').send('id,name\n'))
  return app
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const app = await build(new Map([['acme-key', 'acme']])) // configured by PGHOST, PGUSER and so on
  await app.listen({ port: 3000 })
  console.log('http://localhost:3000/export')
}
