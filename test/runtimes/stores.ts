import type { Store } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createClient } from 'redis'
import { bun, bunClients, databaseOf } from './bun.ts'

// The stores of the store suite, through real clients, at the servers that the environment leads to.

const open: (() => unknown)[] = []

export async function closeClients(): Promise<void> {
  for (const close of open.splice(0)) await close()
}

/** Makes something once, when it is first asked for, and closes it at the end. */
function once<T>(make: () => Promise<T>, close: (made: T) => unknown): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    if (made === undefined) {
      made = make()
      open.push(async () => close(await (made as Promise<T>)))
    }
    return made
  }
}

const port = Number(process.env.REDIS_PORT)

const ioredis = once(
  async () => new Redis({ port }),
  (client) => client.disconnect(),
)

const nodeRedis = once(
  () => createClient({ socket: { port } }).connect(),
  (client) => client.destroy(),
)

const pool = once(
  async () => {
    const made = new pg.Pool()
    await migrate(made)
    return made
  },
  (made) => made.end(),
)

const bunRedis = once(
  async () => new (the(bun).RedisClient)(`redis://127.0.0.1:${port}`),
  (client) => client.close(),
)

const bunSql = once(
  async () => {
    const { PGHOST, PGUSER: username, PGDATABASE: database } = process.env
    const sql = new (the(bun).SQL)({ adapter: 'postgres', path: `${PGHOST}/.s.PGSQL.5432`, username, database })
    await migrate(databaseOf(sql), { table: BUN_TABLE })
    return sql
  },
  (sql) => sql.close(),
)

const BUN_TABLE = 'by_bun'

/** What is asked for only where it is. */
function the<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Error('Only Bun has it.')
  return thing
}

let prefixes = 0
/** Stores of one client and prefix know of each other's denials. */
const freshPrefix = (): string => `store-${++prefixes}`

const inBun: Readonly<Record<string, () => Promise<Store>>> = {
  [bunClients.redisStore]: async () => {
    const client = await bunRedis()
    await client.send('FLUSHALL', [])
    return redisStore(client, { prefix: freshPrefix() })
  },
  [bunClients.postgresStore]: async () => {
    const sql = await bunSql()
    await sql.unsafe(`DELETE FROM ${BUN_TABLE}`)
    return postgresStore(databaseOf(sql), { table: BUN_TABLE, deadline: '25s' })
  },
}

/** Each makes a store in which nothing has been counted yet. */
export const allStores: Readonly<Record<string, () => Store | Promise<Store>>> = {
  memory: () => memoryStore(),
  'Redis by ioredis': async () => {
    const client = await ioredis()
    await client.flushall()
    return redisStore(client, { prefix: freshPrefix() })
  },
  'Redis by node-redis': async () => {
    const client = await nodeRedis()
    await client.flushAll()
    return redisStore(client, { prefix: freshPrefix() })
  },
  'PostgreSQL by pg': async () => {
    const made = await pool()
    await made.query('DELETE FROM spillway')
    return postgresStore(made, { deadline: '25s' }) // slow machines are no failures
  },
  ...(bun && inBun),
}
