import { readFileSync } from 'node:fs'
import { perDay, rateLimiter, storeHealth } from '@spillway/core'
import { Redis as Ioredis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { startRedis } from '../../../test/services/redis.ts'
import { type RedisClient, redisStore } from '../src/index.ts'
import { client } from './commands.ts'

// What users configure by mistake fails with an error that says what to do.

beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())

const others: Ioredis[] = []
afterEach(() => {
  for (const other of others.splice(0)) other.disconnect()
})

function connect(options: object): Ioredis {
  const other = new Ioredis({ port: client.options.port as number, ...options })
  others.push(other)
  return other
}

/** A client of a user with these rights only. */
async function userWith(...rights: string[]): Promise<Ioredis> {
  await client.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>pa55word', ...rights)
  return connect({ username: 'app', password: 'pa55word' })
}

const limiterOf = (of: RedisClient) => {
  const store = redisStore(of, { denyCache: false })
  return { store, limiter: rateLimiter({ quota: perDay(10), store, deadline: '10s', onStoreError: 'throw' }) }
}

/** The error of five calls in a row, and whether they have opened the circuit. */
async function failing(of: RedisClient): Promise<readonly [message: string, circuit: string]> {
  const { store, limiter } = limiterOf(of)
  let message = ''
  for (let i = 0; i < 5; i++) await limiter.consume('a').catch((error: Error) => (message = error.message))
  return [message, storeHealth(store).circuit]
}

test('without its rights, the error says where they are listed', async () => {
  const hint = 'README of @spillway/redis lists under "A user that may do no more"'
  for (const rights of [
    ['~*', '+@all', '-eval'],
    ['~*', '+@all', '-evalsha'],
    ['~other:*', '+@all'],
    // Reproduces a bug: an error within the script was one of a healthy server, and the circuit never opened.
    ['~*', '+@all', '-set'],
  ]) {
    const [message, circuit] = await failing(await userWith(...rights))
    expect(message).toContain(hint)
    // Without EVALSHA, the first of the five calls succeeds.
    expect(circuit).toBe(rights.includes('-evalsha') ? 'closed' : 'open')
  }
})

test('a user with the rights that the README lists can consume, reset and list', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, rights = ''] = /ACL SETUSER app on '>secret' (.*)/.exec(readme) ?? []
  const { limiter } = limiterOf(await userWith(...rights.replaceAll("'", '').split(' ')))
  await limiter.consume('a')
  await limiter.consume('b')
  expect((await limiter.list()).keys).toHaveLength(2)
  expect([await limiter.reset('a'), await limiter.resetAll()]).toEqual([true, 1])
})

test('a replica and a full server open the circuit, and the error says what to do', async () => {
  const replica = await startRedis({ settings: { replicaof: ['127.0.0.1', `${client.options.port}`] } })
  onTestFinished(() => replica.stop())
  expect(await failing(connect({ port: replica.port }))).toEqual([
    expect.stringContaining('The server is a replica, which counts nothing. Connect to the primary.'),
    'open',
  ])
  const full = await startRedis({ settings: { maxmemory: 1 } })
  onTestFinished(() => full.stop())
  expect(await failing(connect({ port: full.port }))).toEqual([
    expect.stringContaining('see docs/guides/redis-eviction.md.'),
    'open',
  ])
})

// Reproduces a bug: Redis 6 puts other words before the code, as in spring-data-redis#3042 and redis#6565. Such an error was
// one of a healthy server: the circuit did not open, and a half-open one closed, which sent its queued refunds to a replica.
test.each([
  "-READONLY You can't write against a read only replica.",
  "-OOM command not allowed when used memory > 'maxmemory'.",
])('an error of Redis 6 within a script opens the circuit: %s', async (reply) => {
  const fail = () =>
    Promise.reject(new Error(`ERR Error running script (call to f_1028a5): @user_script:4: @user_script: 4: ${reply}`))
  expect((await failing({ eval: fail, evalsha: fail, del: fail }))[1]).toBe('open')
})

// cspell:ignore Pipelining
// redis/ioredis#2109: ioredis 5 takes the hash of a script for its key, and puts calls to several nodes into one pipeline.
test('a cluster of ioredis 5 with automatic pipelines opens the circuit, and the error says what to do', async () => {
  const fail = () =>
    Promise.reject(new Error('All keys in the pipeline should belong to the same slots allocation group'))
  expect(await failing({ eval: fail, evalsha: fail, del: fail, isCluster: true } as RedisClient)).toEqual([
    expect.stringContaining(
      'group. Leave out enableAutoPipelining, or use ioredis 6: the store coalesces calls by itself.',
    ),
    'open',
  ])
})

// Reproduces a bug: they were taken, every call failed, and `list` and `resetAll` never returned.
test('a transaction or a pipeline is no client', async () => {
  for (const each of [client.pipeline(), client.multi(), createClient().multi(), createClientPool().multi()])
    expect(() => redisStore(each as never)).toThrow('got a transaction or pipeline')
})

// Reproduces a bug: the error was that the store returned an array, and no list.
test('on a connection in a transaction, the error says to use another', async () => {
  const shared = connect({})
  await shared.multi({ pipeline: false })
  expect((await failing(shared))[0]).toContain('Give the store a client of its own.')
})

// Reproduces a bug: it was taken, and each call emitted an error, which ends the process if no listener is there.
test('a client of node-redis with callbacks is none', () => {
  expect(() => redisStore(createClient().legacy() as never)).toThrow('Pass the client itself.')
})

test('a client whose methods return no reply fails with an error that says so', async () => {
  const resolve = async () => 'OK'
  const [message] = await failing({ eval: resolve, evalsha: resolve, del: resolve })
  expect(message).toContain('the client resolved with "OK" instead of the reply of a script, which is an array.')
})
