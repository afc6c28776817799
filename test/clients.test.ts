import { createRequire } from 'node:module'
import { neon } from '@neondatabase/serverless'
import { type TestFunction, testStore } from '@spillway/conformance'
import { perDay, perMinute, rateLimiter } from '@spillway/core'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { drizzle } from 'drizzle-orm/node-postgres'
import createKnex from 'knex'
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { createClient as createClient4 } from 'redis-4'
import { createClient as createClient5 } from 'redis-5'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adaptedClients, poolClients } from './clients/postgres.ts'
import { redisClients } from './clients/redis.ts'
import { readBlock, tableOfClients } from './clients/table.ts'
import { type Postgres, startPostgres } from './services/postgres.ts'
import { freePort, type Redis, startRedis } from './services/redis.ts'
import { until } from './services/redis-cluster.ts'
import { unhandledRejections } from './unhandled.ts'

// Each client that docs/guides/stores.md lists, in each version, at a real server.

/** The tests of the suite that depend on how a client sends arguments, and reads answers. */
const OF_CLIENTS = /histories|batch or none|1,000 calls|deleted|characters|own clock/

const testOfClients: TestFunction = (name, body) => {
  if (OF_CLIENTS.test(name)) test(name, body)
}

/** The versions of all clients as rows. */
const rowsOf = <Connect>(clients: Readonly<Record<string, Readonly<Record<string, Connect>>>>) =>
  Object.values(clients).flatMap((versions) => Object.entries(versions))

let prefixes = 0
const unhandled = unhandledRejections()

describe.each(rowsOf(redisClients))('Redis by %s', (_name, connect) => {
  let server: Redis
  let connected: Awaited<ReturnType<typeof connect>>
  beforeAll(async () => {
    server = await startRedis()
    connected = await connect(server.port)
  })
  afterAll(async () => {
    await connected.close()
    await server.stop()
  })

  // The server is new: the first call finds no script.
  testStore(testOfClients, () => redisStore(connected.client, { prefix: `store-${++prefixes}` }), { histories: 10 })

  test('deletes the states of a policy, and no others', async () => {
    const store = redisStore(connected.client, { prefix: 'reset' })
    const [one, other] = ['one', 'other'].map((name) =>
      rateLimiter({ name, quota: perMinute(1), store, deadline: '20s', onStoreError: 'throw' }),
    )
    for (const limiter of [one, other]) await limiter?.consume('a')
    expect([await one?.resetAll(), await other?.reset('a'), await other?.resetAll()]).toEqual([1, true, 0])
  })

  test('lists the keys with the most use, and those that are blocked', async () => {
    const store = redisStore(connected.client, { prefix: 'list' })
    const common = { store, deadline: '20s', onStoreError: 'throw', blocks: true } as const
    const limiter = rateLimiter({ name: 'one', quota: perDay(10), ...common })
    await rateLimiter({ name: 'other', quota: perDay(10), ...common }).consume('b')
    for (let i = 0; i < 300; i++) await limiter.consume(`user-${i}`, i === 7 ? 9 : 1)
    await limiter.block('user-8', '1h')
    const list = await limiter.list({ limit: 2, timeout: '20s' })
    expect(list).toMatchObject({ policy: 'one', isComplete: true, keys: [{ key: 'user-7', blockedMs: 0 }, {}] })
    expect(list.scanned).toBeGreaterThanOrEqual(300)
    const { keys } = await limiter.list({ blocked: true, timeout: '20s' })
    expect(keys).toMatchObject([{ key: 'user-8', isDigest: false, decision: { limit: 10 } }])
    expect(keys[0]?.blockedMs).toBeGreaterThan(3_500_000)
  })
})

let server: Postgres
let pool: pg.Pool
let at: { port: number; url: string }
beforeAll(async () => {
  const port = await freePort()
  server = await startPostgres({ settings: { listen_addresses: '127.0.0.1', port } })
  at = { port, url: `postgres://spillway@127.0.0.1:${port}/postgres` }
  pool = new pg.Pool({ connectionString: at.url }).on('error', () => {})
  await migrate(pool)
})
afterAll(async () => {
  await pool.end()
  await server.stop()
})

describe.each(rowsOf({ ...poolClients, ...adaptedClients }))('PostgreSQL by %s', (name, connect) => {
  let connected: Awaited<ReturnType<typeof connect>>
  beforeAll(async () => {
    connected = await connect(at)
  })
  afterAll(() => connected.close())

  testStore(
    testOfClients,
    async () => {
      await pool.query('DELETE FROM spillway')
      return postgresStore(connected.client, { deadline: '25s' })
    },
    { histories: 10 },
  )

  // Reproduces a bug: the error of an idle connection ended the process, unless the app listened for it.
  test('survives the end of all its sessions', async () => {
    const uncaught: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => void uncaught.push(error))
    const store = postgresStore(connected.client, { deadline: '25s' })
    const limiter = rateLimiter({ quota: perDay(1e6), store, deadline: '25s', onStoreError: 'throw' })
    const others = `FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`
    const client = await pool.connect()
    for (let i = 0; i < 3; i++) {
      await Promise.all([1, 2, 3].map((key) => limiter.consume(`${name} ${key}`)))
      await client.query(`SELECT pg_terminate_backend(pid) ${others}`)
      await until(async () => (await client.query(`SELECT ${others}`)).rowCount === 0)
      // A client may notice only with its next statement.
      await until(() =>
        limiter.consume(name).then(
          () => true,
          () => false,
        ),
      )
    }
    client.release()
    process.setUncaughtExceptionCaptureCallback(null)
    expect([...uncaught, ...unhandled].map(String)).toEqual([])
  })

  test.skipIf(connect === adaptedClients['Neon `neon()`']?.[name])('migrates', async () => {
    await migrate(connected.client, { schema: `of_${name.replace(/\W/g, '_')}` })
  })
})

// A client that returns no promise would make every call fail, or worse, decide by what is no answer.

test('redisStore rejects clients with callbacks, and says what to write', async () => {
  // It has no types.
  const { createClient: createClient3 } = createRequire(import.meta.url)('redis-3')
  const three = createClient3({ host: '127.0.0.1', port: await freePort(), retry_strategy: () => undefined })
  three.on('error', () => {})
  expect(() => redisStore(three as never)).toThrow('Install redis@4 or newer.')
  three.end(true)
  const legacy = createClient4({ legacyMode: true })
  expect(() => redisStore(legacy as never)).toThrow('Pass `client.v4`.')
  expect(() => redisStore(legacy.v4 as never)).not.toThrow()
  expect(() => redisStore(createClient4().multi() as never)).toThrow('got a transaction or pipeline')
  expect(() => redisStore(createClient5().legacy() as never)).toThrow('Pass the client itself.')
})

const url = 'postgres://spillway@127.0.0.1:5432/postgres'
const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
}

test.each([
  ['pg.Client', new pg.Client(url), 'got a Client, which is one connection'],
  ['drizzle', drizzle(url), 'Pass its pool, `db.$client`.'],
  ['Kysely', new Kysely({ dialect }), 'Pass the pool that its dialect has.'],
  ['knex', createKnex({ client: 'pg', connection: url }), 'Pass an object with query and exec'],
  ['postgres.js', postgres(url), 'Pass an object with query and exec'],
  ['neon()', neon('postgresql://user:password@host.neon.tech/neondb'), 'Pass an object with query and exec'],
  ['a URL', url, '`new PGlite()`; got "postgres://'],
  ['nothing', undefined, '`new PGlite()`; got undefined.'],
])('postgresStore rejects %s, and says what to write', (_name, client, message) => {
  expect(() => postgresStore(client as never)).toThrow(message)
})

// They are not installed here: what is recognised is taken from pg-promise 12, TypeORM 1.1, Slonik 47 and Sequelize 6. A
// Database of pg-promise and a pool of Slonik have `connect`, but lend no connection of pg, and the former was never returned.
test.each([
  ['pg-promise', ['connect', 'query', '$pool'], 'Pass its pool, `db.$pool`.'],
  ['TypeORM', ['query', 'transaction', 'createQueryRunner'], 'Pass its pool, `dataSource.driver.master`'],
  ['Slonik', ['connect', 'query', 'transaction', 'oneFirst', 'maybeOne'], 'got a pool of Slonik'],
  ['Sequelize', ['query', 'transaction', 'define', 'authenticate'], 'got a Sequelize, which hides its pool.'],
])('postgresStore recognises %s by its methods', (_name, methods, message) => {
  const client = Object.fromEntries(methods.map((method) => [method, () => {}]))
  expect(() => postgresStore(client as never)).toThrow(message)
})

// Reproduces a bug: the error was that undefined is not iterable, or has no `split`.
test.each([
  ['no { rows }', {}, (rows: unknown) => rows, 'query must resolve with { rows }, an array of objects; got an array'],
  ['renamed columns', { transform: postgres.pascal }, (rows: unknown) => ({ rows }), 'got the columns Taken'],
])('an adapter of postgres.js with %s fails with an error that says so', async (_name, options, answer, message) => {
  const sql = postgres(at.url, { onnotice: () => {}, ...options })
  const store = postgresStore({
    query: async (text: string, values: unknown[]) => answer(await sql.unsafe(text, values as string[])) as never,
    exec: (text: string) => sql.unsafe(text),
  })
  const limiter = rateLimiter({ quota: perMinute(1), store, deadline: '20s', onStoreError: 'throw' })
  await expect(limiter.consume('a')).rejects.toThrow(message)
  await sql.end()
})

// Reproduces a bug: postgres.js asks for the types of each new connection by itself, and a failure of that, such as a
// `statement_timeout`, ended the process. No one can catch it, so the guide turns it off.
test('postgres.js as the guide sets it up rejects no promise unhandled under a short statement_timeout', async () => {
  const sql = postgres(at.url, { fetch_types: false, onnotice: () => {}, connection: { statement_timeout: 1 } })
  const store = postgresStore({
    query: async (text: string, values: unknown[]) => ({ rows: await sql.unsafe(text, values as string[]) }),
    exec: (text: string) => sql.unsafe(text),
  })
  const limiter = rateLimiter({ quota: perMinute(1), store, deadline: '20s' })
  await Promise.all(Array.from({ length: 30 }, (_, i) => limiter.consume(`${i}`)))
  await sql.end({ timeout: 0 })
  expect(unhandled.map(String)).toEqual([])
})

test('a pool that lends no connection of pg fails with an error that says so', async () => {
  const store = postgresStore({ connect: async () => ({ query: async () => ({ rows: [] }), done: () => {} }) } as never)
  const limiter = rateLimiter({ quota: perMinute(1), store, deadline: '20s', onStoreError: 'throw' })
  await expect(limiter.consume('a')).rejects.toThrow(
    'connect of the pool resolved with no connection of pg: release is undefined',
  )
})

test('docs/guides/stores.md lists the clients that are tested, in their versions', () => {
  expect(readBlock()).toBe(tableOfClients())
})
