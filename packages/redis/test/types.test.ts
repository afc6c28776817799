import { QuotaError } from '@spillway/core'
import type { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { expect, expectTypeOf, test } from 'vitest'
import { type RedisClient, redisStore } from '../src/index.ts'

test('the clients of both libraries are taken without a cast, whatever their options', () => {
  expectTypeOf<Redis>().toExtend<RedisClient>()
  expectTypeOf<Cluster>().toExtend<RedisClient>()
  expectTypeOf(createClient()).toExtend<RedisClient>()
  expectTypeOf(createClient({ RESP: 2 })).toExtend<RedisClient>()
  expectTypeOf(createClientPool()).toExtend<RedisClient>()
  expectTypeOf(createCluster({ rootNodes: [] })).toExtend<RedisClient>()
  expectTypeOf(createSentinel({ name: 'spillway', sentinelRootNodes: [] })).toExtend<RedisClient>()
})

test.each([undefined, null, {}, 'redis://localhost', { get: () => {} }])('%j is no client, and told so', (client) => {
  expect(() => redisStore(client as never)).toThrow(QuotaError)
  expect(() => redisStore(client as never)).toThrow('redisStore takes a client of ioredis')
})

test('an option that is not known is refused', () => {
  // @ts-expect-error prefixes is no option
  expect(() => redisStore(createClient(), { prefixes: 'a' })).toThrow('Did you mean "prefix"?')
})
