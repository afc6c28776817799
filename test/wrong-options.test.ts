import { adminHandler } from '@spillway/admin'
import { durableObjectStore } from '@spillway/cloudflare'
import { fakeClock, modelStore } from '@spillway/conformance'
import * as core from '@spillway/core'
import { clientAddress, httpGuard, ipKey } from '@spillway/core/http'
import { formatValue } from '@spillway/core/internal'
import * as onElysia from '@spillway/elysia'
import * as onExpress from '@spillway/express'
import * as compat from '@spillway/express/compat'
import * as onFastify from '@spillway/fastify'
import * as onFetch from '@spillway/fetch'
import * as onH3 from '@spillway/h3'
import * as onH31 from '@spillway/h3/v1'
import * as onHono from '@spillway/hono'
import * as onKoa from '@spillway/koa'
import * as memory from '@spillway/memory'
import { RateLimiter as NestLimiter } from '@spillway/nestjs'
import * as onNode from '@spillway/node'
import { telemetry } from '@spillway/opentelemetry'
import { cached } from '@spillway/plans'
import { migrate, migrationSql, postgresStore, sweep } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { plainReader } from './plain-reader.ts'

// Every exported function with values of a wrong kind: it works, or throws a QuotaError with the value.

const fn = () => {}
const values: readonly unknown[] = [
  ...[undefined, null, true, 0, 5, Number.NaN, 5n, '', 'text', Symbol('options')],
  ...[[], [1], Promise.resolve({}), new Map(), new Date(0), fn],
]

const quota = core.perMinute(5)
const store = () => modelStore(fakeClock())
const limiter = core.rateLimiter({ quota: core.perMinute(1_000), blocks: true, store: store() })
const remote = (more: object = {}): core.Store => {
  const { take, delete: remove } = store()
  return { take, delete: remove, ...more }
}
const batching: core.Store = { ...remote(), takeEach: async () => [] }
const redis = new Redis({ lazyConnect: true })
// Nothing listens there: what gets as far as the database fails otherwise.
const pool = new Pool({ port: 1 })
const namespace = { idFromName: () => '', get: () => ({}) as never }

const denied = { decision: { violated: ['default'] } as unknown as core.Decision }

type Row = readonly [name: string, call: (value: never) => unknown, works?: readonly unknown[]]

const rows: readonly Row[] = [
  ['rateLimiter', (value) => core.rateLimiter(value)],
  ['rateLimiter of memory', (value) => memory.rateLimiter(value)],
  ['quotas of rateLimiter', (value) => core.rateLimiter({ quotas: value, store: store() })],
  ['takeSync of a store', (value) => core.rateLimiter({ quota, store: remote({ takeSync: value }) }), [undefined]],
  ['perSecond', (value) => core.perSecond(value), [0, 5]],
  ['perSecond options', (value) => core.perSecond(5, value), [undefined]],
  ['perMinute options', (value) => core.perMinute(5, value), [undefined]],
  ['perHour options', (value) => core.perHour(5, value), [undefined]],
  ['perDay options', (value) => core.perDay(5, value), [undefined]],
  ['perMonth options', (value) => core.perMonth(5, value), [undefined]],
  ['calendarWindow', (value) => core.calendarWindow(value)],
  ['calendarWindow unit', (value) => core.calendarWindow({ limit: 5, unit: value })],
  ['calendarWindow timeZone', (value) => core.calendarWindow({ limit: 5, unit: 'day', timeZone: value }), [undefined]],
  ['fixedWindow', (value) => core.fixedWindow(value)],
  ['leakyBucket', (value) => core.leakyBucket(value)],
  ['penalty', (value) => core.penalty(value)],
  ['slidingLog', (value) => core.slidingLog(value)],
  ['slidingWindow', (value) => core.slidingWindow(value)],
  ['tokenBucket', (value) => core.tokenBucket(value)],
  ['warmingUp', (value) => core.warmingUp(value)],
  ['divideQuota', (value) => core.divideQuota(value, { replicas: 2 })],
  ['divideQuota options', (value) => core.divideQuota(quota, value)],
  ['consumeAll', (value) => core.consumeAll(value)],
  [
    'limitStream',
    (value) => core.limitStream(value, { limiter, key: 'ann' }),
    values.filter((value) => Symbol.iterator in Object(value)),
  ],
  ['limitStream options', (value) => core.limitStream([1], value)],
  ['storeHealth', (value) => core.storeHealth(value)],
  ['isSync', (value) => core.isSync(value), values],
  ['micros', (value) => core.micros(value, 'per'), [5]],
  ['withDenyCache', (value) => core.withDenyCache(value)],
  ['withDenyCache options', (value) => core.withDenyCache(remote(), value), [undefined]],
  ['withHashedKeys', (value) => core.withHashedKeys(value, (key) => key)],
  ['withHashedKeys hash', (value) => core.withHashedKeys(remote(), value), [fn]],
  ['withLeases', (value) => core.withLeases(value, { requests: 5 })],
  ['withLeases options', (value) => core.withLeases(remote(), value)],
  ['withSharedQuota', (value) => core.withSharedQuota(value)],
  ['withSharedQuota options', (value) => core.withSharedQuota(batching, value), [undefined]],
  ['sharedQuotaBounds', (value) => core.sharedQuotaBounds(value, { processes: 2 })],
  ['sharedQuotaBounds options', (value) => core.sharedQuotaBounds(quota, value)],
  ['limiter.consume', (value) => limiter.consume(value), ['text']],
  ['limiter.consume cost', (value) => limiter.consume('ann', value), [undefined, 5]],
  ['limiter.consumeUpTo', (value) => limiter.consumeUpTo('ann', value), [5]],
  ['limiter.peek', (value) => limiter.peek('ann', value), [undefined, 5]],
  ['limiter.refund', (value) => limiter.refund('ann', value), [undefined, 5]],
  ['limiter.charge', (value) => limiter.charge('ann', value), [undefined, 5]],
  ['limiter.reserve', (value) => limiter.reserve('ann', value), [undefined]],
  ['limiter.wait', (value) => limiter.wait('ann', value), [undefined]],
  ['limiter.list', (value) => limiter.list(value), [undefined]],
  ['limiter.block', (value) => limiter.block('ann', value), [5]],
  ['limiter.inspect', (value) => limiter.inspect(value), ['text']],
  ['limiter.reset', (value) => limiter.reset(value), ['text']],
  ['limiter.resetAll', (value) => limiter.resetAll(value), [undefined]],
  ['ipKey', (value) => ipKey(value), [undefined, '', 'text']],
  ['ipKey options', (value) => ipKey('::1', value), [undefined]],
  ['clientAddress', (value) => clientAddress(value, plainReader), [0, 5, values.find(Array.isArray)]],
  ['httpGuard', (value) => httpGuard(value, plainReader)],
  ['memoryStore', (value) => memory.memoryStore(value), [undefined]],
  ['steadyClock', (value) => memory.steadyClock(value), [undefined]],
  ['cached', (value) => cached(value), [fn]],
  ['cached options', (value) => cached(() => 'pro', value), [undefined]],
  ['redisStore', (value) => redisStore(value)],
  ['redisStore options', (value) => redisStore(redis, value), [undefined]],
  ['postgresStore', (value) => postgresStore(value)],
  ['postgresStore options', (value) => postgresStore(pool, value), [undefined]],
  ['migrate', (value) => migrate(value)],
  ['migrationSql', (value) => migrationSql(value), [undefined]],
  ['sweep', (value) => sweep(value)],
  ['durableObjectStore', (value) => durableObjectStore(value)],
  ['durableObjectStore options', (value) => durableObjectStore(namespace, value), [undefined]],
  ['adminHandler', (value) => adminHandler(value)],
  [
    'what the clock of adminHandler returns',
    (value) => adminHandler({ limiters: [limiter], authorize: () => true, clock: () => value }).onDecision(denied),
    [0, 5],
  ],
  ['meter of telemetry', (value) => telemetry({ meter: value }), [undefined]],
  ['tracer of telemetry', (value) => telemetry({ tracer: value }), [undefined]],
  ['coalesce of redisStore', (value) => redisStore(redis, { coalesce: value }), [undefined, true]],
  ['coalesce of postgresStore', (value) => postgresStore(pool, { coalesce: value }), [undefined, true]],
  ['prepare of postgresStore', (value) => postgresStore(pool, { prepare: value }), [undefined, true]],
  ['telemetry', (value) => telemetry(value), [undefined]],
  ['telemetry().store', (value) => telemetry().store(value)],
  ['rateLimit of Express', (value) => onExpress.rateLimit(value)],
  ['rateLimit of Koa', (value) => onKoa.rateLimit(value)],
  ['rateLimit of Node', (value) => onNode.rateLimit(value)],
  ['rateLimit of Hono', (value) => onHono.rateLimit(value)],
  ['rateLimit of Fastify', (value) => onFastify.rateLimit(value)],
  ['rateLimit of h3', (value) => onH3.rateLimit(value)],
  ['rateLimit of h3 1', (value) => onH31.rateLimit(value)],
  ['rateLimit of Elysia', (value) => onElysia.rateLimit(value)],
  ['rateLimit of fetch', (value) => onFetch.rateLimit(value)],
  ['decisionOf of fetch', (value) => onFetch.decisionOf(value), values],
  ['rateLimit of compat', (value) => compat.rateLimit(value), [undefined]],
  ['RateLimiter of NestJS', (value) => new NestLimiter(value)],
  ['clock of memoryStore', (value) => memory.memoryStore({ clock: value }), [undefined, fn]],
  [
    'wall of steadyClock',
    (value) => memory.steadyClock({ wall: value === fn ? () => 0 : value, stopwatch: () => 0 }),
    [fn],
  ],
  ['stopwatch of steadyClock', (value) => memory.steadyClock({ wall: () => 0, stopwatch: value }), [fn]],
  ['stopwatch of withDenyCache', (value) => core.withDenyCache(remote(), { stopwatch: value }), [undefined, fn]],
  [
    'scope of withDenyCache',
    (value) => core.withDenyCache(remote(), { scope: value }),
    values.filter((value) => value === undefined || (typeof value === 'object' && value !== null)),
  ],
  ['stopwatch of withLeases', (value) => core.withLeases(remote(), { requests: 2, stopwatch: value }), [undefined, fn]],
  ['stopwatch of withSharedQuota', (value) => core.withSharedQuota(batching, { stopwatch: value }), [undefined, fn]],
]

for (const [name, call, works = []] of rows) {
  test(`${name} works, or throws a QuotaError that shows the value`, async () => {
    const wrong: string[] = []
    for (const value of values) {
      const outcome = await outcomeOf(() => call(value as never))
      // Of a list, the error may show an item.
      const shown = outcome.includes(formatValue(value)) || (Array.isArray(value) && outcome.includes('; got '))
      if (works.includes(value) ? outcome !== 'works' : !shown) wrong.push(`${formatValue(value)}: ${outcome}`)
    }
    expect(wrong).toEqual([])
  })
}

// It failed at each request instead, so that each process counted by itself.
test.each([undefined, {}, { idFromName: fn }, { get: fn }])(
  'durableObjectStore refuses what is no binding: %o',
  (binding) => {
    expect(() => durableObjectStore(binding as never)).toThrow('durableObjectStore needs a binding to Durable Objects')
  },
)

/** `works`, or the message of the error with its class. */
async function outcomeOf(call: () => unknown): Promise<string> {
  try {
    const returned = call()
    // A cached lookup is a function, and a limiter of Fastify has a `then`.
    if (returned instanceof Promise) await returned
    return 'works'
  } catch (error) {
    return error instanceof core.QuotaError ? error.message : `not a QuotaError: ${error}`
  }
}
