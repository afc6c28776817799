import { QuotaError } from '@spillway/core'
import type { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { expect, expectTypeOf, test } from 'vitest'
import { type RedisClient, redisStore } from '../src/index.ts'

test('accepts the clients of both libraries without a cast, with any options', () => {
  expectTypeOf<Redis>().toExtend<RedisClient>()
  expectTypeOf<Cluster>().toExtend<RedisClient>()
  expectTypeOf(createClient()).toExtend<RedisClient>()
  expectTypeOf(createClient({ RESP: 2 })).toExtend<RedisClient>()
  expectTypeOf(createClientPool()).toExtend<RedisClient>()
  expectTypeOf(createCluster({ rootNodes: [] })).toExtend<RedisClient>()
  expectTypeOf(createSentinel({ name: 'spillway', sentinelRootNodes: [] })).toExtend<RedisClient>()
})

test.each([undefined, null, {}, 'redis://localhost', { get: () => {} }])('rejects %j as a client', (client) => {
  expect(() => redisStore(client as never)).toThrow(QuotaError)
  expect(() => redisStore(client as never)).toThrow('redisStore takes a client of ioredis')
})

test('rejects an unknown option', () => {
  // @ts-expect-error prefixes is not an option

  expect(() => redisStore(createClient(), { prefixes: 'a' })).toThrow('Did you mean "prefix"?')
})
