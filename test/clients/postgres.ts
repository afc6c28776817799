import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Pool as NeonPool, neon, neonConfig } from '@neondatabase/serverless'
import type { Database } from '@spillway/postgres'
import { drizzle } from 'drizzle-orm/node-postgres'
import createKnex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
// @ts-expect-error It has no types of its own: those of the newest are for both.
import oldest from 'pg-8'
import postgres from 'postgres'
import { WebSocket, WebSocketServer } from 'ws'
import type { Versions } from './redis.ts'

const pg8: typeof pg = oldest

/** Where a PostgreSQL server is reached. */
export interface Server {
  readonly port: number
  readonly url: string
}

type Clients = Readonly<Record<string, Versions<Database, Server>>>

/** The clients that `postgresStore` takes as they are, or a pool that they have. */
export const poolClients: Clients = {
  pg: {
    pg: async ({ url }) => {
      const client = new pg.Pool({ connectionString: url })
      return { client, close: () => client.end() }
    },
    'pg-8': async ({ url }) => {
      const client = new pg8.Pool({ connectionString: url })
      return { client, close: () => client.end() }
    },
  },
  drizzle: {
    'drizzle-orm': async ({ url }) => {
      const { $client } = drizzle(url)
      return { client: $client, close: () => $client.end() }
    },
  },
  Kysely: {
    kysely: async ({ url }) => {
      const pool = new pg.Pool({ connectionString: url })
      const db = new Kysely({ dialect: new PostgresDialect({ pool }) })
      // A database that has run no query of its own does not end its pool.
      const close = async (): Promise<void> => {
        await db.destroy()
        if (!pool.ended) await pool.end()
      }
      return { client: pool, close }
    },
  },
  'Neon `Pool`': {
    '@neondatabase/serverless': async ({ port, url }) => {
      const front = await webSocketFront(port)
      Object.assign(neonConfig, { webSocketConstructor: WebSocket, wsProxy: () => `127.0.0.1:${front.port}/` })
      Object.assign(neonConfig, { useSecureWebSocket: false, pipelineTLS: false, pipelineConnect: false })
      const client = new NeonPool({ connectionString: url })
      const close = async (): Promise<void> => {
        await client.end()
        front.close()
      }
      return { client, close }
    },
  },
}

/** The clients that an object of `query` and `exec` adapts, as docs/guides/stores.md writes it out. */
export const adaptedClients: Clients = {
  'postgres.js': {
    postgres: async ({ url }) => {
      const sql = postgres(url, { fetch_types: false, onnotice: () => {} })
      const client = {
        query: async (text: string, values: (string | number)[]) => ({ rows: await sql.unsafe(text, values) }),
        exec: (text: string) => sql.unsafe(text),
      }
      // Once a session has been ended, it would wait for ever without a timeout.
      return { client, close: () => sql.end({ timeout: 0 }) }
    },
  },
  knex: {
    knex: async ({ url }) => {
      const knex = createKnex({ client: 'pg', connection: url })
      const run = async (text: string, values?: unknown[]) => {
        const connection = await knex.client.acquireConnection()
        try {
          return await connection.query(text, values)
        } finally {
          await knex.client.releaseConnection(connection)
        }
      }
      return { client: { query: run, exec: run }, close: () => knex.destroy() }
    },
  },
  'Neon `neon()`': {
    '@neondatabase/serverless': async ({ url }) => {
      const front = await httpFront(url)
      neonConfig.fetchEndpoint = () => `http://127.0.0.1:${front.port}/sql`
      const sql = neon(url)
      const client = {
        query: async (text: string, values: unknown[]) => ({ rows: await sql.query(text, values) }),
        exec: (text: string) => sql.query(text),
      }
      return { client, close: front.close }
    },
  },
}

/** Passes bytes between WebSockets and a server, as Neon does. */
async function webSocketFront(port: number) {
  const front = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await new Promise((resolve) => front.once('listening', resolve))
  front.on('connection', (client) => {
    const server = connect(port, '127.0.0.1').on('error', () => {})
    client.on('message', (bytes: Buffer) => server.write(bytes))
    server.on('data', (bytes) => client.send(bytes))
    client.on('close', () => server.destroy())
    server.on('close', () => client.close())
  })
  return { port: (front.address() as AddressInfo).port, close: () => front.close() }
}

/** Runs the statements of HTTP requests, each by itself and as text, as Neon does. */
async function httpFront(url: string) {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => {})
  const asText = { getTypeParser: () => (text: unknown) => text }
  const front = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { query: text, params: values = [] } = JSON.parse(body) as { query: string; params?: unknown[] }
    const statement = { text, values, rowMode: 'array' as const, types: asText, queryMode: 'extended' }
    const [status, answer] = await pool.query(statement).then(
      ({ command, rowCount, rows, fields }) => [200, { command, rowCount, rows, fields }] as const,
      ({ message, code, severity }) => [400, { message, code, severity }] as const,
    )
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    front.close()
    await pool.end()
  }
  return { port: (front.address() as AddressInfo).port, close }
}
