// A Redis server, and what asks it: Spillway, its rivals and a limiter written by hand.

import { perSecond, type Quota, type RateLimiter, rateLimiter } from '@spillway/core'
import { type RedisStoreOptions, redisStore } from '@spillway/redis'
import { Redis as Ioredis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { createClient } from 'redis'
import { type Redis, startRedis } from '../test/services/redis.ts'
import { askingByHand } from './redis-baseline.ts'

export const OURS = 'spillway, ioredis'
export const OURS_TOO = 'spillway, node-redis'
export const FLEXIBLE = 'rate-limiter-flexible, ioredis'
export const FLEXIBLE_TOO = 'rate-limiter-flexible, node-redis'
export const EXPRESS = 'rate-limit-redis, ioredis'
export const BY_HAND = 'batches of 100, hand-written, ioredis'

/** A quota that denies nothing. */
export const AMPLE = perSecond(1_000_000)

export type Ask = (key: string) => Promise<unknown>

/** A server and its clients. */
export interface Field {
  readonly server: Redis
  readonly admin: Ioredis
  readonly asks: Readonly<Record<string, Ask>>
  limiter(quota: Quota, options?: RedisStoreOptions): RateLimiter
  close(): Promise<void>
}

export async function field(): Promise<Field> {
  const server = await startRedis()
  const [admin, client] = [new Ioredis({ port: server.port }), new Ioredis({ port: server.port })]
  const other = createClient({ socket: { port: server.port } })
  await other.connect()
  const terms = { points: 1_000_000_000, duration: 60 }
  const [flexible, flexibleToo] = [
    new RateLimiterRedis({ ...terms, storeClient: client, keyPrefix: 'a' }),
    new RateLimiterRedis({ ...terms, storeClient: other, useRedisPackage: true, keyPrefix: 'b' }),
  ]
  const express = new RedisStore({
    prefix: 'c:',
    sendCommand: (name: string, ...rest: string[]) => client.call(name, ...rest) as Promise<never>,
  })
  void express.init({ windowMs: 60_000 } as Parameters<typeof express.init>[0])
  const limiter = (quota: Quota, options: RedisStoreOptions = {}): RateLimiter =>
    rateLimiter({ quota, store: redisStore(client, options), name: 'default', deadline: '10s' })
  const [ours, single] = [limiter(AMPLE), limiter(AMPLE, { coalesce: false, prefix: 'single' })]
  const oursToo = rateLimiter({
    quota: AMPLE,
    store: redisStore(other, { prefix: 'too' }),
    name: 'default',
    deadline: '10s',
  })
  return {
    server,
    admin,
    limiter,
    asks: {
      [FLEXIBLE]: (key) => flexible.consume(key),
      [FLEXIBLE_TOO]: (key) => flexibleToo.consume(key),
      [EXPRESS]: (key) => express.increment(key),
      [OURS]: (key) => ours.consume(key),
      [OURS_TOO]: (key) => oursToo.consume(key),
      'spillway, ioredis, not batched': (key) => single.consume(key),
      [BY_HAND]: await askingByHand(client, 1, 1_000_000_000),
    },
    async close() {
      for (const each of [admin, client]) each.disconnect()
      other.destroy()
      await server.stop()
    },
  }
}
