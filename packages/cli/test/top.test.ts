// cspell:ignore Hpair limitd minut
import { PassThrough, Readable } from 'node:stream'
import { type RateLimiter, rateLimiter, type Store } from '@spillway/core'
import { policiesFrom } from '@spillway/core/rules'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startPostgres } from '../../../test/services/postgres.ts'
import { startRedis } from '../../../test/services/redis.ts'
import { top } from '../src/commands/top.ts'
import { eventsOf } from '../src/top/events.ts'
import { bucket, folderOf, spillway } from './terminal.ts'

const rules = [
  bucket('minute', { limit: 1, per: '1h', burst: 5 }, { blocks: true }),
  bucket('pair', { limit: 1, per: '1h', burst: 7 }, { limit_keys: ['ip', 'header:x-key'] }),
]
const folder = folderOf({ 'policies.json': JSON.stringify(rules) })
const policy = folder.path('policies.json')
const HOSTILE = '\u001b[2J\u001b]0;owned\u0007'

let server: Awaited<ReturnType<typeof startRedis>>
let redis: Redis
let url: string
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.port, '127.0.0.1')
  url = `redis://127.0.0.1:${server.port}`
})
beforeEach(() => redis.flushall())
afterAll(async () => {
  folder.remove()
  redis.disconnect()
  await server.stop()
})

/** Uses keys as a middleware would. */
async function use(store: Store): Promise<RateLimiter> {
  const [minute, pair] = policiesFrom(rules).map(({ name, quota }) =>
    rateLimiter({ name, quota, blocks: name === 'minute', store, deadline: '10s' }),
  ) as [RateLimiter, RateLimiter]
  await minute.consume('192.0.2.1', 2)
  await minute.consume('192.0.2.2', 5)
  await pair.consume('9:192.0.2.11:k', 3)
  return minute
}

test('prints the keys that have used the most of each policy once, if it is not on a terminal', async () => {
  await use(redisStore(redis))
  const { out, exitCode } = await spillway(['top', '--redis', url, '--policy', policy])
  expect(exitCode).toBe(0)
  expect(out).toMatch(
    /^minute {2}2 states examined\n\nkey +used +of +share +next request +full +blocked\n192\.0\.2\.2 +5 +5 +100 %/,
  )
  expect(out).toMatch(/192\.0\.2\.1 +2 +5 +40 % +now/)
  expect(out).toMatch(/pair {2}1 state examined\n\n.*\n192\.0\.2\.1 k +3 +7/)
  const json = await spillway(['top', '--redis', url, '--policy', policy, '--name', 'minute', '--limited', '--json'])
  expect(JSON.parse(json.out)).toMatchObject([{ policy: 'minute', isComplete: true, keys: [{ key: '192.0.2.2' }] }])
})

test('lists the keys of PostgreSQL', async () => {
  const database = await startPostgres()
  const pool = new pg.Pool(database.config)
  await use(postgresStore(pool, { deadline: '10s' }))
  await pool.end()
  const address = `postgres:///${database.config.database}?host=${database.folder}&user=${database.config.user}`
  const { out } = await spillway(['top', '--postgres', address, '--policy', policy, '--name', 'minute'])
  expect(out).toMatch(/192\.0\.2\.2 +5 +5 +100 %[\s\S]*192\.0\.2\.1 +2 +5/)
  await database.stop()
})

/** Runs `top` on a terminal with these keys pressed, and returns the screens it has drawn. */
async function screens(keys: readonly (string | (() => Promise<unknown>))[]): Promise<readonly string[]> {
  const out: string[] = []
  async function* events(): AsyncGenerator<string> {
    for (const key of keys) {
      if (typeof key === 'string') yield key
      else await key()
    }
  }
  const stdout = { isTTY: true, columns: 80, rows: 10, write: (text: string) => out.push(text) }
  const io = { stdin: Readable.from([]), stdout, stderr: stdout, env: { NO_COLOR: '1' } }
  expect(await top({ redis: url, policy: [policy], limit: 50 }, io, events())).toBe(0)
  expect([out[0], out.at(-1)]).toEqual(['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l'])
  return out.slice(1, -1).map((screen) => screen.replaceAll('\u001b[K\r\n', '\n'))
}

test('redraws each second, selects, sorts, filters and goes on to the next policy', async () => {
  const minute = await use(redisStore(redis))
  const drawn = await screens([
    () => minute.consume('192.0.2.9', 4),
    '',
    '\u001b[B',
    'l',
    'l',
    'l',
    '/',
    '.',
    '9',
    '\r',
    '\t',
    's',
  ])
  expect(drawn).toHaveLength(12)
  expect(drawn[0]).toMatch(/> 192\.0\.2\.2.*\n {2}192\.0\.2\.1/)
  expect(drawn[1]).toMatch(/> 192\.0\.2\.2.*\n {2}192\.0\.2\.9.*\n {2}192\.0\.2\.1/)
  expect(drawn[2]).toMatch(/ {2}192\.0\.2\.2.*\n> 192\.0\.2\.9/)
  expect(drawn[3]).toMatch(/limited only/)
  expect(drawn[3]).not.toContain('192.0.2.9')
  expect(drawn[4]).toMatch(/blocked only[\s\S]*no key is blocked/)
  expect(drawn[5]).not.toContain('only')
  expect(drawn[8]).toContain('/.9  (Enter to keep, Escape to clear)')
  expect(drawn[9]).toMatch(/filter: \.9/)
  expect(drawn[9]).not.toContain('192.0.2.2 ')
  expect(drawn[10]?.startsWith('\u001b[Hpair')).toBe(true)
  expect(drawn[11]).toContain('sorted by wait')
})

test('resets the selected key after confirmation only, also if the list has changed meanwhile', async () => {
  const minute = await use(redisStore(redis))
  const no = await screens(['r', 'n'])
  expect(no[1]).toContain('Reset 192.0.2.2? [y/N]')
  expect(no[2]).toContain('Nothing was changed.')
  expect(await minute.peek('192.0.2.2')).toMatchObject({ remaining: 0 })
  const yes = await screens(['r', () => minute.charge('192.0.2.1', 50), '', 'y', 'q', ''])
  expect(yes).toHaveLength(3)
  expect(yes[2]).toContain('Reset 192.0.2.2.')
  expect((await minute.inspect('192.0.2.2'))[0]).toMatchObject({ kept: false })
  expect(await minute.peek('192.0.2.1')).toMatchObject({ remaining: 0 })
})

test('blocks the selected key for the time that is typed, and unblocks it after confirmation', async () => {
  const minute = await use(redisStore(redis))
  const isBlocked = async () => !(await minute.peek('192.0.2.1')).allowed
  const down = '\u001b[B'
  const changed = await screens([down, 'b', '\u001b', 'b', '\r', 'b', '1', '5', 'x', '\u007f', down, 'm', '\r'])
  expect(changed[2]).toContain('Block 192.0.2.1 for, such as 15m: ')
  for (const screen of [changed[3], changed[5]]) expect(screen).toContain('Nothing was changed.')
  expect(changed[9]).toContain('such as 15m: 15x')
  expect(changed[12]).toContain('such as 15m: 15m')
  expect(changed[13]).toMatch(/192\.0\.2\.1 .* 1[45] min[\s\S]*Blocked 192\.0\.2\.1 for 15m\./)
  expect(await isBlocked()).toBe(true)
  const printed = await spillway(['top', '--redis', url, '--policy', policy, '--name', 'minute', '--blocked', '--json'])
  expect(JSON.parse(printed.out)).toMatchObject([{ keys: [{ key: '192.0.2.1', decision: { remaining: 3 } }] }])
  const kept = await screens(['l', 'l', 'u', 'n'])
  expect([kept[3]?.includes('Unblock 192.0.2.1? [y/N]'), await isBlocked()]).toEqual([true, true])
  const freed = await screens(['l', 'l', 'u', 'y'])
  expect(freed[4]).toMatch(/no key is blocked[\s\S]*Unblocked 192\.0\.2\.1\./)
  expect(await isBlocked()).toBe(false)
})

test('says why it does not block: a time that is none, and a policy that cannot', async () => {
  await use(redisStore(redis))
  const drawn = await screens(['b', ...'1y\r', '\t', 'b', ...'1h\r', 'u', 'y'])
  expect(drawn[4]).toContain('block duration must be a positive duration')
  expect(drawn[9]).toContain('Build it with blocks: true.')
  expect(drawn[11]).toContain('Build it with blocks: true.')
})

test('a key with escape sequences, or of 15 kB, is listed without them, and cannot be reset by its digest', async () => {
  const minute = await use(redisStore(redis))
  await minute.consume(HOSTILE, 5)
  await minute.charge('k'.repeat(15_000), 9)
  const drawn = await screens(['r', 'y'])
  for (const screen of drawn) expect(screen.includes('owned') || screen.includes('\u001b[2J')).toBe(false)
  expect(drawn[0]).toMatch(/> digest ~/)
  expect(drawn[2]).toContain('The store keeps only a digest of this key')
  expect(await minute.peek('k'.repeat(15_000))).toMatchObject({ remaining: 0 })
})

test('reports each key of the keyboard, and the seconds, until the input ends', async () => {
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { setRawMode: (raw: boolean) => modes.push(raw) })
  const seen: string[] = []
  stdin.write('a\u001b[Bé')
  for await (const event of eventsOf(stdin, 1)) {
    if (event === '' && !seen.includes('')) stdin.end('q')
    seen.push(event)
  }
  expect(seen.filter((event) => event !== '')).toEqual(['a', '\u001b[B', 'é', 'q'])
  expect(seen).toContain('')
  expect(modes).toEqual([true, false])
})

test.each<[string, string[], string]>([
  ['no store', ['top'], 'top needs one store'],
  ['two stores', ['top', '--redis', 'redis://a', '--postgres', 'postgres://b'], 'top needs one store'],
  [
    'a table of Redis',
    ['top', '--redis', 'redis://h', '--table', 't'],
    '--table is for PostgreSQL, and redis://h is Redis',
  ],
  [
    'a prefix of PostgreSQL',
    ['top', '--postgres', 'postgres://h', '--prefix', 'p'],
    '--prefix is for Redis, and postgres://h is PostgreSQL',
  ],
  ['a store of the other kind', ['top', '--redis', 'postgres://localhost'], 'a store is redis://'],
  [
    'an unknown policy',
    ['top', '--redis', 'redis://localhost', '--name', 'minut'],
    'no policy is named "minut": there are "minute", "pair"',
  ],
  ['a misspelt option', ['top', '--redis', 'redis://localhost', '--limitd'], 'Did you mean one of --limit, --limited'],
  ['too many keys', ['top', '--redis', 'redis://localhost', '--limit', '1001'], '1 to 1000'],
])('%s is wrong usage', async (_, args, message) => {
  const { exitCode, err } = await spillway([...args, '--policy', policy])
  expect([exitCode, err]).toEqual([2, expect.stringContaining(message)])
})

test('a server that does not answer fails in one sentence', async () => {
  const { exitCode, err } = await spillway(['top', '--redis', 'redis://u:secret@127.0.0.1:1', '--policy', policy])
  expect([exitCode, err.includes('secret'), err.trim().split('\n').length]).toEqual([1, false, 1])
})
