import type { Store, StoreOptions } from '@spillway/core'
import type { Redis } from 'ioredis'
import { EXIT } from '../exit.ts'
import { type Io, UserError } from '../io.ts'

/** The options of the store that was used. */
export interface LiveOptions {
  /** The prefix of the keys in Redis. */
  readonly prefix?: string
  /** The table in PostgreSQL. */
  readonly table?: string
  readonly schema?: string
  /** The environment variable with the secret that hashes keys. */
  readonly hashKeysFrom?: string
}

/** A live store, and the function that disconnects. */
export interface Live {
  readonly store: Store
  close(): Promise<void>
}

type Secret = { readonly hashKeys?: string }

/** Connects to the store of a URL. Clients are imported on demand, because they are optional. */
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

/** The stores, by the schemes of their URLs. */
const SCHEMES = { redis: ['redis', 'rediss'], postgres: ['postgres', 'postgresql'] } as const

/** Parses the URL of a store. Errors do not contain the URL, which may have a password. */
export function urlOf(text: string, kinds: readonly (keyof typeof SCHEMES)[] = ['redis', 'postgres']): URL {
  const before = text.slice(0, Math.max(text.indexOf('://'), 0))
  const scheme = /^[a-z]{1,20}$/i.test(before) ? before : ''
  if (!kinds.some((kind) => (SCHEMES[kind] as readonly string[]).includes(scheme.toLowerCase()))) {
    const wanted = kinds.includes('postgres') ? 'redis://…, rediss://… or postgres://…' : 'redis://… or rediss://…'
    throw new UserError(`a store is ${wanted}; got ${scheme === '' ? 'no such URL' : JSON.stringify(`${scheme}:`)}.`)
  }
  if (!URL.canParse(text)) {
    throw new UserError(
      `the URL that begins with ${scheme}:// is invalid: check that its port is 1 to 65535 and its password is encoded.`,
    )
  }
  const url = new URL(text)
  // The host is then the name of the user, and the port is the beginning of the password.
  if (`${url.pathname}${url.search}${url.hash}`.includes('@')) {
    throw new UserError(
      `the URL that begins with ${scheme}:// has an @ after its host: in a password, write %2F for /, %3F for ? and %23 for #; in a parameter, write %40 for @.`,
    )
  }
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

/** Checks the URL of a store, and that the options are of its kind. Throws a UserError if they are not. */
export function checkStore(
  text: string,
  { prefix, table, schema }: LiveOptions,
  kinds?: Parameters<typeof urlOf>[1],
): void {
  const url = urlOf(text, kinds)
  const isRedis = /^redis/.test(url.protocol)
  const unused = isRedis ? { '--table': table, '--schema': schema } : { '--prefix': prefix }
  const [option] = Object.entries(unused).find(([, value]) => value !== undefined) ?? []
  if (option === undefined) return
  const [own, kind, instead] = isRedis
    ? ['PostgreSQL', 'Redis', 'the prefix of the keys as --prefix']
    : ['Redis', 'PostgreSQL', '--table or --schema']
  throw new UserError(`${option} is for ${own}, and ${placeOf(url)} is ${kind}: leave it out, or write ${instead}.`)
}

/** A URL without its password. */
export const placeOf = ({ protocol, host }: URL): string => `${protocol}//${host}`

/** The limiter's options for a live store: a failure is reported once, by the program's last sentence. */
export const ASKING: Pick<StoreOptions, 'deadline' | 'onStoreError' | 'logger'> = {
  deadline: '5s',
  onStoreError: 'throw',
  logger: { warn() {} },
}

/** The timeout to connect and for a reply. */
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
    // It sends INFO, which a user may not be allowed to.
    enableReadyCheck: false,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
  })
  let failure: Error | undefined
  // Listens for the reason, because the promise only reports that there is no connection.
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
  // Before the deadline of the store, which would report a pool that is in use: its connection is opened for the call.
  const timeouts = { connectionTimeoutMillis: TIMEOUT_MS - 1_000, query_timeout: TIMEOUT_MS }
  const pool = new pg.Pool({ connectionString: url, max: 1, ...timeouts })
  pool.on('error', () => {})
  const names = { ...(table !== undefined && { table }), ...(schema !== undefined && { schema }) }
  const store = postgresStore(pool, { deadline: TIMEOUT_MS, ...names, ...secret })
  return { store, close: () => pool.end() }
}

/** Not on the command line, which every user of the machine can read. */
function secretOf(name: string | undefined, env: Io['env']): Secret {
  if (name === undefined) return {}
  const hashKeys = env[name]
  if (hashKeys !== undefined) return { hashKeys }
  throw new UserError(
    `--hash-keys-from names an environment variable with the secret; ${JSON.stringify(name)} is not set.`,
  )
}
