import { adminHandler } from '@spillway/admin'
import { limitedFetch } from '@spillway/client'
import { durableObjectStore } from '@spillway/cloudflare'
import * as core from '@spillway/core'
import { memoryStore, rateLimit } from '@spillway/express'
import { cached } from '@spillway/plans'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { adaptive, shedder } from '@spillway/shed'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { expect, test } from 'vitest'

// `undefined` is an option that is not given. Some options took `null` for that, too, and others refused it: a store that is
// null because a setting is missing counted in memory, in each process.

const quota = core.perMinute(5)
const batching = (): core.Store => ({ take: async () => [], takeEach: async () => [], delete: async () => 0 })
const limiter = core.rateLimiter({ quota, blocks: true, store: memoryStore() })
const redis = new Redis({ lazyConnect: true })
const pool = new Pool()
const namespace = { idFromName: () => '', get: () => ({}) as never }

type Row = readonly [call: string, names: string, call: (options: never) => unknown]

const rows: readonly Row[] = [
  [
    'rateLimiter',
    'name store blocks deadline onStoreError replicas logger onThreshold spill',
    (options: object) => core.rateLimiter({ quotas: { a: quota }, store: memoryStore(), ...options }),
  ],
  [
    'rateLimit',
    'policies name store key cost maxCost match countIf deadline onStoreError replicas logger maxWait skip headers jitter exposeHeaders countPreflight trustProxy ipv6Prefix claims refundIf onDenied onDecision onThreshold settle mode problem blocks partition unit defaultCost spill tiers',
    (options: object) => rateLimit({ quota, ...options }),
  ],
  ['a policy', 'name key cost match mode', (options: object) => rateLimit({ policies: [{ quota, ...options }] })],
  ['perMinute', 'burst', (options: object) => core.perMinute(5, options)],
  ['perMonth', 'timeZone', (options: object) => core.perMonth(5, options)],
  [
    'tokenBucket',
    'burst refill overdraft initial keepFull',
    (options: object) => core.tokenBucket({ limit: 5, per: '1m', ...options }),
  ],
  ['fixedWindow', 'align offset', (options: object) => core.fixedWindow({ limit: 5, window: '1m', ...options })],
  ['leakyBucket', 'queue', (options: object) => core.leakyBucket({ limit: 5, per: '1m', ...options } as never)],
  ['warmingUp', 'burst', (options: object) => core.warmingUp({ limit: 5, per: '1m', warmUpPeriod: '1m', ...options })],
  [
    'penalty',
    'grow max forgive extend',
    (options: object) => core.penalty({ after: 5, within: '1m', block: '1m', ...options }),
  ],
  [
    'calendarWindow',
    'timeZone firstDay',
    (options: object) => core.calendarWindow({ limit: 5, unit: 'week', ...options }),
  ],
  ['limitStream', 'cost ahead', (options: object) => core.limitStream([1], { limiter, key: 'ann', ...options })],
  [
    'withLeases',
    'maxLoss idle stopwatch',
    (options: object) => core.withLeases(batching(), { requests: 2, ...options }),
  ],
  ['withSharedQuota', 'margin stopwatch', (options: object) => core.withSharedQuota(batching(), options)],
  ['sharedQuotaBounds', 'margin', (options: object) => core.sharedQuotaBounds(quota, { processes: 2, ...options })],
  ['withDenyCache', 'for maxKeys scope stopwatch', (options: object) => core.withDenyCache(batching(), options)],
  ['list', 'policy limit scan limited blocked timeout', (options: object) => limiter.list(options)],
  ['reserve', 'cost maxWait', (options: object) => limiter.reserve('ann', options)],
  ['wait', 'cost maxWait signal', (options: object) => limiter.wait('ann', options)],
  ['memoryStore', 'maxKeys clock', memoryStore as (options: object) => unknown],
  ['redisStore', 'prefix coalesce denyCache lease hashKeys', (options: object) => redisStore(redis, options)],
  [
    'postgresStore',
    'table schema deadline coalesce prepare sweepEvery',
    (options: object) => postgresStore(pool, options),
  ],
  ['durableObjectStore', 'shards', (options: object) => durableObjectStore(namespace, options)],
  ['adaptive', 'min max initial', adaptive as (options: object) => unknown],
  [
    'limitedFetch',
    'name key maxWait maxPause logger retries fetch',
    (options: object) => limitedFetch({ quota, store: memoryStore(), ...options }),
  ],
  [
    'shedder',
    'limit queue target interval reserve maxLag retryAfter onDecision logger clock',
    shedder as (options: object) => unknown,
  ],
  ['cached', 'max maxUnknown ttl staleFor timeout onError logger clock', (options: object) => cached(() => 1, options)],
  [
    'adminHandler',
    'audit mask secret logger clock',
    (options: object) => adminHandler({ limiters: [limiter], authorize: () => true, ...options }),
  ],
]

for (const [where, names, call] of rows) {
  test(`null is not a value of an option of ${where}: the error says to leave it out`, async () => {
    for (const name of names.split(' ')) {
      const message = `${where} ${name} is null. Give it a value, or leave it out.`
      await expect((async () => call({ [name]: null } as never))(), name).rejects.toThrow(message)
    }
  })
}

test('null is a value of the default of cached', async () => {
  const planOf = cached(() => Promise.reject(new Error('down')), { default: null as never, logger: { warn: () => {} } })
  expect(await planOf('ann')).toBeNull()
})
