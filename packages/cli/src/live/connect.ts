import type { Store, StoreOptions } from '@spillway/core'
import type { Redis } from 'ioredis'
import { EXIT } from '../exit.ts'
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
export async function connect(text: string, options: LiveOptions, env: Io['env']): Promise<Live> {
  const secret = secretOf(options.hashKeysFrom, env)
  const url = urlOf(text)
  if (/^postgres(ql)?:$/.test(url.protocol)) return connectPostgres(text, options, secret)
  const { redisStore } = await import('@spillway/redis')
  const { redis, close, ready } = await redisAt(url)
  const prefix = options.prefix === undefined ? {} : { prefix: options.prefix }
  const store = redisStore(redis, { denyCache: false, ...prefix, ...secret })
  await ready()
  return { store, close }
}

/** The kinds of stores, by the schemes of their URLs. */
const SCHEMES = { redis: ['redis', 'rediss'], postgres: ['postgres', 'postgresql'] } as const

/** The URL of a store. What is wrong is said without the URL itself, which may have a password. */
export function urlOf(text: string, kinds: readonly (keyof typeof SCHEMES)[] = ['redis', 'postgres']): URL {
  const before = text.slice(0, Math.max(text.indexOf('://'), 0))
  const scheme = /^[a-z]{1,20}$/i.test(before) ? before : ''
  if (!kinds.some((kind) => (SCHEMES[kind] as readonly string[]).includes(scheme.toLowerCase()))) {
    const wanted = kinds.includes('postgres') ? 'redis://…, rediss://… or postgres://…' : 'redis://… or rediss://…'
    throw new UserError(`a store is ${wanted}; got ${scheme === '' ? 'no such URL' : JSON.stringify(`${scheme}:`)}.`)
  }
  if (!URL.canParse(text)) {
    throw new UserError(`the URL that begins with ${scheme}:// is none: is its port 1 to 65535, its password encoded?`)
  }
  const url = new URL(text)
  try {
    decodeURIComponent(`${url.username}${url.password}${url.pathname}`)
  } catch {
    throw new UserError(`the URL of ${placeOf(url)} has a % that encodes nothing: write %25 for a % in a password.`)
  }
  if (/^redis/.test(url.protocol) && !/^\/?\d*$/.test(url.pathname)) {
    throw new UserError(`the path of ${placeOf(url)} is the number of a database, such as /0; got ${url.pathname}.`)
  }
  return url
}

/** A URL's place alone: its password is nobody's to see. */
export const placeOf = ({ protocol, host }: URL): string => `${protocol}//${host}`

/** How a limiter asks a live store: what fails is reported once, as the sentence that the program ends with. */
export const ASKING: Pick<StoreOptions, 'deadline' | 'onStoreError' | 'logger'> = {
  deadline: '5s',
  onStoreError: 'throw',
  logger: { warn() {} },
}

/** How long a server may take, to connect and to answer. */
const TIMEOUT_MS = 5000

/** A client of a Redis server, which connects with `ready`. */
export async function redisAt(url: URL): Promise<{
  readonly redis: Redis
  ready(): Promise<void>
  close(): Promise<void>
}> {
  const { Redis } = await import('ioredis')
  const redis = new Redis(url.href, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    // It asks INFO, which a user may not have.
    enableReadyCheck: false,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
  })
  let failure: Error | undefined
  // Says what is wrong, where the promise says only that there is no connection.
  redis.on('error', (error) => {
    failure ??= error
  })
  return {
    redis,
    close: async () => redis.disconnect(),
    async ready() {
      try {
        await redis.connect()
      } catch (error) {
        redis.disconnect()
        throw unreachable(url, failure ?? error)
      }
    },
  }
}

export const unreachable = (url: URL, error: unknown): UserError => {
  const { message, code } = error as NodeJS.ErrnoException
  return new UserError(`${placeOf(url)} fails: ${message || code}`, EXIT.failure)
}

async function connectPostgres(url: string, { table, schema }: LiveOptions, secret: Secret): Promise<Live> {
  const [{ default: pg }, { postgresStore }] = await Promise.all([import('pg'), import('@spillway/postgres')])
  const timeouts = { connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS }
  const pool = new pg.Pool({ connectionString: url, max: 1, ...timeouts })
  pool.on('error', () => {})
  const names = { ...(table !== undefined && { table }), ...(schema !== undefined && { schema }) }
  const store = postgresStore(pool, { deadline: TIMEOUT_MS, ...names, ...secret })
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
