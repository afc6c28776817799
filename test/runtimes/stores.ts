import type { Store } from '@spillway/core'
import { memoryStore } from '@spillway/memory'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createClient } from 'redis'

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

let prefixes = 0
/** Stores of one client and prefix know of each other's denials. */
const freshPrefix = (): string => `store-${++prefixes}`

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
}
