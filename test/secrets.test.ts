import { inspect } from 'node:util'
import { perMinute, rateLimiter, type Store, withDenyCache, withHashedKeys, withLeases } from '@spillway/core'
import { rateLimit } from '@spillway/fetch'
import { type Database, postgresStore } from '@spillway/postgres'
import { type RedisClient, redisStore } from '@spillway/redis'
import { Cluster, Redis } from 'ioredis'
import { createClient } from 'redis'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from './services/redis.ts'

// Errors quoted the URL of a database with its password, and the printed store showed its client's.
const PASSWORD = 'pA/ss@w0rd'
const URLS = [
  `redis://default:${PASSWORD}@db.example:6379/0`,
  `rediss://:${PASSWORD}@db.example`,
  `postgres://u:${PASSWORD}@db.example/app`,
]
const quota = perMinute(10)

function messageOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return inspect(error)
  }
  throw new Error('nothing was thrown')
}

test.each(URLS)('no error quotes the password of %s', (url) => {
  const calls = [
    () => redisStore(url as unknown as RedisClient),
    () => postgresStore(url as unknown as Database),
    () => postgresStore({ connectionString: url } as unknown as Database),
    () => rateLimiter({ quota, store: url as unknown as Store }),
    () => rateLimit({ quota, store: url as unknown as Store }),
    () => rateLimit({ quota, key: url as 'ip' }),
    () => rateLimit({ quota, name: `${'x'.repeat(90)}${url}` }),
    () => redisStore(new Redis({ lazyConnect: true }), { [url]: 1 }),
  ]
  for (const message of calls.map(messageOf)) {
    expect(message).not.toContain('w0rd')
    expect(message).not.toContain('pA')
  }
})

const clients: Readonly<Record<string, () => RedisClient>> = {
  ioredis: () => new Redis({ lazyConnect: true, password: PASSWORD }),
  'node-redis': () => createClient({ password: PASSWORD }),
}

test.each(Object.keys(clients))('a store of %s prints as its kind and scope, without its client', (name) => {
  const client = (clients[name] as () => RedisClient)()
  const store = redisStore(client, { prefix: 'shop' })
  const foreign: Store = { ...store, scope: { owner: client, name: 'mine' } }
  const stores = [
    store,
    redisStore(client, { lease: 10, hashKeys: 'a secret of more than 16' }),
    withDenyCache(foreign),
    withHashedKeys(foreign, (key) => key),
    withLeases(foreign, { requests: 10 }),
    rateLimiter({ quota, store }),
    rateLimit({ quota, store }),
  ]
  for (const each of stores) {
    for (const text of [inspect(each, { depth: 10 }), JSON.stringify(each) ?? '', String(each)])
      expect(text).not.toContain('w0rd')
  }
  expect(inspect(store)).toContain("scope: { kind: 'Redis', name: 'shop' }")
  expect(JSON.parse(JSON.stringify(store)).scope).toEqual({ kind: 'Redis', name: 'shop' })
})

// The errors of ioredis have the arguments of their command: of that which signs in, the password.
test.each([
  ['a server', (port: number) => new Redis({ port, password: PASSWORD })],
  ['a cluster', (port: number) => new Cluster([{ port }], { redisOptions: { password: PASSWORD } })],
])('a password that %s rejects is in no error', async (_, connect) => {
  const server = await startRedis({ settings: { requirepass: 'another' } })
  onTestFinished(() => server.stop())
  const client = connect(server.port)
  onTestFinished(() => client.disconnect())
  const warnings: string[] = []
  const limiter = rateLimiter({
    quota,
    store: redisStore(client),
    deadline: '2s',
    onStoreError: 'throw',
    logger: { warn: (message) => warnings.push(message) },
  })
  for (let i = 0; i < 3; i++) {
    const error: unknown = await limiter.consume('a').then(
      () => 'nothing was thrown',
      (thrown: unknown) => thrown,
    )
    const text = inspect(error, { depth: 10 })
    expect(text).toMatch(/WRONGPASS|NOAUTH/)
    expect(text).not.toContain('w0rd')
  }
  expect(warnings.join()).not.toContain('w0rd')
})

test('the failure of a client is reported without its password', async () => {
  const error = new Error(`connect failed: redis://u:${PASSWORD}@db.example password=${PASSWORD}`)
  const fail = () => Promise.reject(error)
  const store = redisStore({ evalsha: fail, eval: fail, del: fail })
  const warnings: string[] = []
  const limiter = rateLimiter({ quota, store, logger: { warn: (message) => warnings.push(message) } })
  await limiter.consume('a')
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('db.example')
  expect(warnings[0]).not.toContain('w0rd')
})
