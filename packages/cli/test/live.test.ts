import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { rateLimiter, type Store } from '@spillway/core'
import { httpGuard, ipKey } from '@spillway/core/http'
import { policiesFrom } from '@spillway/core/rules'
import { migrate, postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../../../test/services/postgres.ts'
import { freePort, startRedis } from '../../../test/services/redis.ts'
import { type Entry, entryReader } from '../src/log/entry.ts'
import { jsonParser } from '../src/log/json.ts'
import { bucket, folderOf, type Ran, spillway } from './terminal.ts'

const rules = [
  bucket('minute', { limit: 1, per: '1h', burst: 5 }, { blocks: true }),
  bucket('day', { limit: 100, window: '1d' }, { algorithm: 'sliding_window', mode: 'shadow' }),
  bucket('pair', { limit: 1, per: '1h', burst: 7 }, { limit_keys: ['ip', 'header:x-key'] }),
]
const folder = folderOf({ 'policies.json': JSON.stringify(rules) })
afterAll(() => folder.remove())

/** Consumes units of a key, like the middleware. */
async function use(store: Store): Promise<void> {
  const [minute, day, pair] = policiesFrom(rules)
  const consume = (name: string, quota: typeof minute, key: string, cost: number) =>
    rateLimiter({ name, quota: (quota as NonNullable<typeof quota>).quota, store, deadline: '5s' }).consume(key, cost)
  await consume('minute', minute, '192.0.2.1', 5)
  await consume('day (shadow)', day, '192.0.2.1', 40)
  await consume('pair', pair, '9:192.0.2.11:k', 3)
  await consume('minute', minute, ipKey('2001:db8::1'), 2)
}

/** Policies with every selector, alone and together, and the keys of the middleware for them. */
const selectors = ['ip', 'header:X-Key', 'cookie:sid', 'query:q', 'path', 'method', 'claim:user']
const byParts = folderOf({
  'policies.json': JSON.stringify([
    ...selectors.map((selector) =>
      bucket(selector.replace(':', '-'), { limit: 1, per: '1h', burst: 5 }, { limit_keys: [selector] }),
    ),
    bucket('all', { limit: 1, per: '1h', burst: 5 }, { limit_keys: selectors }),
  ]),
})
afterAll(() => byParts.remove())

async function countByParts(store: Store, ipv6Prefix: number): Promise<void> {
  const policies = policiesFrom(JSON.parse(readFileSync(byParts.path('policies.json'), 'utf8')))
  const guard = httpGuard(
    { policies, store, ipv6Prefix, claims: (entry: Entry) => ({ user: entry.claim('user') }), deadline: '5s' },
    entryReader,
  )
  const headers = { 'x-key': 'K 1', cookie: 'a=b; sid=c:d' }
  const line = { time: 1767323045000, ip: '2001:db8:0:1::1', method: 'POST', path: '/A//b%20c?q=7', headers, user: 'u' }
  await guard(jsonParser()(JSON.stringify(line)) as Entry)
}

/** The middleware's keys are found by the parts that an operator types, and reset. */
async function findsByParts(url: string, ...options: string[]): Promise<void> {
  const run = async (verb: string, key: readonly string[]): Promise<Ran> =>
    spillway([verb, url, ...key, '--policy', byParts.path('policies.json'), '--json', ...options])
  const left = async (...key: string[]) => {
    const { out } = await run('inspect', key)
    return JSON.parse(out).flatMap(({ policy, remaining }: Record<string, unknown>) =>
      remaining === 5 ? [] : [policy],
    )
  }
  for (const address of ['2001:db8:0:1::ff', '[2001:DB8:0:1::1]:443', '2001:db8:0:1::/64', '2001:db8:0:1::1%eth0']) {
    expect(await left(address)).toEqual(['ip'])
  }
  expect(await left('2001:db8:0:2::1')).toEqual([])
  const others = [
    ['K 1', 'header-X-Key'],
    ['c:d', 'cookie-sid'],
    ['7', 'query-q'],
    ['/a/b c/', 'path'],
    ['post', 'method'],
    ['u', 'claim-user'],
  ] as const
  for (const [part, policy] of others) expect([part, await left(part)]).toEqual([part, [policy]])
  const all = ['2001:db8:0:1::9', 'K 1', 'c:d', '7', '/a/b c', 'POST', 'u']
  expect(await left(...all)).toEqual(['all'])
  expect(
    (await spillway(['reset', url, ...all, '--policy', byParts.path('policies.json'), '--yes', ...options])).exitCode,
  ).toBe(0)
  expect(await left(...all)).toEqual([])
  expect(await run('inspect', ['2001:db8::/48'])).toMatchObject({
    exitCode: 2,
    err: 'spillway: clients are counted by /64, not by 2001:db8::/48: --ipv6-prefix 48 if that is the ipv6Prefix of your middleware.\n',
  })
}

const SECRET = 'a secret of more than sixteen characters'
const env = { SPILLWAY_SECRET: SECRET }
const withPolicies = (...args: string[]): string[] => [...args, '--policy', folder.path('policies.json')]

/** The test that both kinds of stores pass. */
async function tells(url: string, ...options: string[]): Promise<void> {
  const inspect = async (...key: string[]) => {
    const { out } = await spillway(withPolicies('inspect', url, ...key, '--json', ...options), { env })
    return JSON.parse(out).map(({ policy, remaining, limit }: Record<string, unknown>) => [policy, remaining, limit])
  }
  const full = [
    ['minute', 5, 5],
    ['day (shadow)', 100, 100],
  ]
  expect(await inspect('192.0.2.1')).toEqual([
    ['minute', 0, 5],
    ['day (shadow)', 60, 100],
  ])
  expect(await inspect('192.0.2.2')).toEqual(full)
  expect(await inspect('192.0.2.1', 'k')).toEqual([['pair', 4, 7]])
  expect((await inspect('2001:db8:0:ff::9'))[0]).toEqual(['minute', 3, 5]) // of the same network

  const { out } = await spillway(withPolicies('inspect', url, '192.0.2.1', ...options), { env })
  expect(out).toMatch(/^policy +key +remaining +of +next request +half +full\nminute +192\.0\.2\.1 +0 +5 +(59 min|1 h)/)
  expect(out).toMatch(/^minute .* (2 h 59 min|3 h) +(4 h 59 min|5 h)$/m)
  expect((await spillway(withPolicies('inspect', url, '192.0.2.2', ...options), { env })).out).toMatch(
    /^minute +192\.0\.2\.2 +5 +5 +now +now +nothing kept$/m,
  )

  const answered = (answer: string) => {
    const stdin = Object.assign(Readable.from([answer]), { isTTY: true })
    return spillway(withPolicies('reset', url, '192.0.2.1', ...options), { stdin, env })
  }
  const no = await answered('\n')
  expect([no.exitCode, no.err]).toEqual([1, 'Reset 192.0.2.1 in "minute", "day (shadow)"? [y/N] '])
  expect(await inspect('192.0.2.1')).not.toEqual(full)
  expect(await answered('y\n')).toMatchObject({
    exitCode: 0,
    out: 'Reset in "minute", "day (shadow)": the next request finds a full quota.\n',
  })
  expect(await inspect('192.0.2.1')).toEqual(full)
  const yes = await spillway(withPolicies('reset', url, '192.0.2.1', 'k', '--yes', '--json', ...options), { env })
  expect(JSON.parse(yes.out)).toEqual({ reset: true, policies: ['pair'], found: ['pair'] })
  expect(await answered('y\n')).toMatchObject({
    exitCode: 0,
    out: 'Nothing to reset: no policy had a state of this key.\n',
  })
  expect(await inspect('192.0.2.1', 'k')).toEqual([['pair', 7, 7]])
}

describe('over Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>
  let redis: Redis
  let url: string
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port, '127.0.0.1')
    url = `redis://127.0.0.1:${server.port}`
  })
  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })

  test('a key is inspected, and reset after confirmation', async () => {
    await use(redisStore(redis))
    await tells(url)
  })

  test('keys under a prefix and a hash are found by them', async () => {
    await use(redisStore(redis, { prefix: 'shop', hashKeys: SECRET }))
    await tells(url, '--prefix', 'shop', '--hash-keys-from', 'SPILLWAY_SECRET')
    const { exitCode, err } = await spillway(
      withPolicies('inspect', url, '192.0.2.1', '--hash-keys-from', 'SPILLWAY_NONE'),
    )
    expect([exitCode, err]).toEqual([2, expect.stringContaining('"SPILLWAY_NONE" is not set')])
  })

  test('keys are found by the parts of which the middleware made them', async () => {
    await countByParts(redisStore(redis, { prefix: 'parts' }), 64)
    await findsByParts(url, '--prefix', 'parts', '--ipv6-prefix', '64')
  })

  test('inspect prints until when a key is blocked, and when its units are available', async () => {
    const [minute] = policiesFrom(rules)
    const { name, quota, blocks } = minute as NonNullable<typeof minute>
    const store = redisStore(redis)
    await rateLimiter({ name, quota, blocks: blocks === true, store, deadline: '5s' }).block('192.0.2.77', '30m')
    const { out } = await spillway(withPolicies('inspect', url, '192.0.2.77'))
    expect(out).toMatch(/^policy .* full +blocked\nminute +192\.0\.2\.77 +5 +5 +(29|30) min.* +(29|30) min/)
    expect(out).toMatch(/^day .* +now +now +nothing kept$/m)
    const printed = JSON.parse((await spillway(withPolicies('inspect', url, '192.0.2.77', '--json'))).out)
    expect(printed[0].blockedMs).toBeGreaterThan(1_700_000)
    expect(printed[0].available.map(({ units }: { units: number }) => units)).toEqual([1, 3, 5])
    expect(printed[0].available[0].afterMs).toBe(printed[0].blockedMs)
  })

  test('inspect changes nothing', async () => {
    await spillway(withPolicies('inspect', url, '192.0.2.199'))
    expect(await redis.keys('*192.0.2.199*')).toEqual([])
  })
})

test('a key is inspected and reset in PostgreSQL too', async () => {
  const server = await startPostgres()
  const pool = new pg.Pool(server.config)
  await migrate(pool)
  await use(postgresStore(pool, { deadline: '5s' }))
  await countByParts(postgresStore(pool, { deadline: '5s' }), 64)
  await pool.end()
  const url = `postgres:///${server.config.database}?host=${server.folder}&user=${server.config.user}`
  await tells(url)
  await findsByParts(url, '--ipv6-prefix', '64')
  await server.stop()
})

test.each<[string, string[], number, string]>([
  [
    'a store of another kind',
    ['inspect', 'mysql://localhost', '192.0.2.1'],
    2,
    'a store is redis://…, rediss://… or postgres://…; got "mysql:"',
  ],
  ['no URL', ['inspect', 'localhost:6379/0', '192.0.2.1'], 2, 'a store is redis://'],
  [
    'a key of too many parts',
    ['inspect', 'redis://localhost', 'a', 'b', 'c'],
    2,
    'no policy has a key of 3 parts: "minute" has ip',
  ],
  [
    'a reset without a terminal',
    ['reset', 'redis://localhost', '192.0.2.1'],
    2,
    'standard input is not a terminal: add --yes',
  ],
  // Nobody has such a key: "full" said nothing about the client that was meant.
  [
    'a key that is no address',
    ['inspect', 'redis://localhost', '203.0.113.256'],
    2,
    '"minute", "day" counts by IP address, and "203.0.113.256" has none',
  ],
  ['a network of IPv4', ['inspect', 'redis://localhost', '192.0.2.0/24'], 2, '"192.0.2.0/24" has none'],
  ['no key', ['inspect', 'redis://localhost'], 2, "missing required argument 'key'"],
  // Reproduces a bug: these options were ignored, so that another store was inspected than was meant.
  ...['inspect', 'reset'].flatMap((command): [string, string[], number, string][] => [
    [
      `a table of Redis for ${command}`,
      [command, 'redis://u:secret@h', '192.0.2.1', '--table', 't'],
      2,
      '--table is for PostgreSQL, and redis://h is Redis: leave it out, or write the prefix of the keys as --prefix.',
    ],
    [
      `a schema of Redis for ${command}`,
      [command, 'rediss://h', '192.0.2.1', '--schema', 's'],
      2,
      '--schema is for PostgreSQL, and rediss://h is Redis: leave it out, or write the prefix of the keys as --prefix.',
    ],
    [
      `a prefix of PostgreSQL for ${command}`,
      [command, 'postgres://h/x', '192.0.2.1', '--prefix', 'p'],
      2,
      '--prefix is for Redis, and postgres://h is PostgreSQL: leave it out, or write --table or --schema.',
    ],
  ]),
])('rejects %s', async (_, args, exitCode, message) => {
  const ran = await spillway(withPolicies(...args))
  expect([ran.exitCode, ran.err]).toEqual([exitCode, expect.stringContaining(message)])
})

// Reproduces a bug: the error said that the server fails.
test.each([
  ['inspect', 'redis://h', '192.0.2.1'],
  ['reset', 'redis://h', '192.0.2.1'],
  ['top', '--redis', 'redis://h'],
])('%s rejects two files that have other quotas of one name', async (...args) => {
  const files = folderOf({
    'a.json': JSON.stringify([bucket('one', { rps: 1 }), bucket('two', { rps: 1 })]),
    'b.json': JSON.stringify([bucket('one', { rps: 1 }), bucket('two', { rps: 2 })]),
  })
  const [a, b] = [files.path('a.json'), files.path('b.json')]
  const { exitCode, err } = await spillway([...args, '--policy', a, '--policy', b])
  files.remove()
  expect([exitCode, err]).toEqual([2, expect.stringContaining(`"two" has two quotas in ${a} and in ${b}, of which`)])
})

test.each(['redis', 'postgres'])('a missing %s server is reported without its password', async (protocol) => {
  const { exitCode, err } = await spillway(
    withPolicies('inspect', `${protocol}://u:secret@127.0.0.1:${await freePort()}`, '192.0.2.1'),
  )
  expect(exitCode).toBe(1)
  expect(err).toMatch(/127\.0\.0\.1:\d+/)
  expect(err).not.toContain('secret')
})
