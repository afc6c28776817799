import { run } from '@spillway/cli'
import { durableObjectStore, type RateLimitsNamespace } from '@spillway/cloudflare'
import { fakeClock, faultyStore, modelStore } from '@spillway/conformance'
import { perDay, type Quota, type Store, tokenBucket } from '@spillway/core'
import { httpGuard } from '@spillway/core/http'
import { policiesFrom } from '@spillway/core/rules'
import * as express from '@spillway/express'
import * as compat from '@spillway/express/compat'
import * as fastify from '@spillway/fastify'
import * as fetch from '@spillway/fetch'
import * as hono from '@spillway/hono'
import * as koa from '@spillway/koa'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { telemetry } from '@spillway/opentelemetry'
import { postgresStore } from '@spillway/postgres'
import { redisStore } from '@spillway/redis'
import { Hono } from 'hono'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createClient } from 'redis'

// Code of a user, compiled by several compilers with different module resolutions.

export const quota: Quota = tokenBucket({ limit: 100, per: '1m', burst: 20 })
export const store: Store = memoryStore({ maxKeys: 1_000 })
export const limiter = rateLimiter({ quotas: { burst: quota, daily: perDay(10_000) } })
export const remaining: number = limiter.consumeSync('alice').remaining

const policies = policiesFrom([{ name: 'daily', quota: '10000/day' }])
export const middlewares = [
  ...[express, koa, fastify].map(({ rateLimit }) => rateLimit({ quota, store })),
  hono.rateLimit({ quota, store }),
]
export const handler: (request: Request, env: { name: string }) => Promise<Response> = fetch.rateLimit({ policies })(
  (request: Request, env: { name: string }) => new Response(`${env.name} ${fetch.decisionOf(request)?.remaining}`),
)
export const guard = typeof httpGuard
export const program = typeof run

declare const objects: RateLimitsNamespace
export const stores: readonly Store[] = [
  redisStore(new Redis()),
  redisStore(createClient()),
  postgresStore(new pg.Pool(), { sweepEvery: '10m' }),
  durableObjectStore(objects),
  telemetry().store(faultyStore(modelStore(fakeClock())), 'model'),
]
export const old = compat.rateLimit({ windowMs: 60_000, limit: 100 })

const app = new Hono()
app.use(hono.rateLimit({ quota, headers: 'draft-11' }))
app.get('/', (c) => c.text(`${c.get('rateLimit')?.remaining}`))

// @ts-expect-error: a wrong type is rejected
perDay('many')
// @ts-expect-error: and so is an option that there is not
hono.rateLimit({ quota, limit: 5 })
