import type { Store } from '@spillway/core'
import { type Io, UserError } from '../io.ts'

/** How the states are kept that a live store is asked for. */
export interface LiveOptions {
  /** Redis: what keys begin with. */
  readonly prefix?: string
  /** PostgreSQL: where the table is. */
  readonly table?: string
  readonly schema?: string
  /** The environment variable that holds the secret by which keys are hashed. */
  readonly hashKeysFrom?: string
}

/** A live store, and how to let go of it. */
export interface Live {
  readonly store: Store
  close(): Promise<void>
}

type Secret = { readonly hashKeys?: string }

/** Connects to the store that a URL names. Clients are loaded only when they are needed. */
export async function connect(url: string, options: LiveOptions, env: Io['env']): Promise<Live> {
  const secret = secretOf(options.hashKeysFrom, env)
  const protocol = URL.canParse(url) ? new URL(url).protocol : ''
  if (/^rediss?:$/.test(protocol)) return connectRedis(url, options, secret)
  if (/^postgres(ql)?:$/.test(protocol)) return connectPostgres(url, options, secret)
  throw new UserError(`a store is redis://…, rediss://… or postgres://…; got ${JSON.stringify(protocol || url)}.`)
}

async function connectRedis(url: string, { prefix }: LiveOptions, secret: Secret): Promise<Live> {
  const [{ Redis }, { redisStore }] = await Promise.all([import('ioredis'), import('@spillway/redis')])
  const redis = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  // Heard here, or Node would end the program; whoever asks is told by the promise.
  redis.on('error', () => {})
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    throw new UserError(`${new URL(url).host} cannot be reached: ${(error as Error).message}`, 1)
  }
  const store = redisStore(redis, {
    denyCache: false,
    ...(prefix !== undefined && { prefix }),
    ...secret,
  })
  return { store, close: async () => redis.disconnect() }
}

async function connectPostgres(url: string, { table, schema }: LiveOptions, secret: Secret): Promise<Live> {
  const [{ default: pg }, { postgresStore }] = await Promise.all([import('pg'), import('@spillway/postgres')])
  const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5000 })
  pool.on('error', () => {})
  const names = { ...(table !== undefined && { table }), ...(schema !== undefined && { schema }) }
  const store = postgresStore(pool, { deadline: '5s', ...names, ...secret })
  return { store, close: () => pool.end() }
}

/** The secret is never said on the command line, which anybody on the machine can read. */
function secretOf(name: string | undefined, env: Io['env']): Secret {
  if (name === undefined) return {}
  const hashKeys = env[name]
  if (hashKeys !== undefined) return { hashKeys }
  throw new UserError(
    `--hash-keys-from names an environment variable with the secret; ${JSON.stringify(name)} is not set.`,
  )
}
