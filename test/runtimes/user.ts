import { perDay, type Quota, type Store, tokenBucket } from '@spillway/core'
import { httpGuard } from '@spillway/core/http'
import { policiesFrom } from '@spillway/core/rules'
import * as express from '@spillway/express'
import * as fastify from '@spillway/fastify'
import * as fetch from '@spillway/fetch'
import * as hono from '@spillway/hono'
import * as koa from '@spillway/koa'
import { memoryStore, rateLimiter } from '@spillway/memory'
import { Hono } from 'hono'

// What somebody writes who uses the packages: compiled by several compilers, each looking for modules in its own way.

export const quota: Quota = tokenBucket({ limit: 100, per: '1m', burst: 20 })
export const store: Store = memoryStore({ maxKeys: 1_000 })
export const limiter = rateLimiter({ quotas: { burst: quota, daily: perDay(10_000) } })
export const remaining: number = limiter.consumeSync('alice').remaining

const policies = policiesFrom([{ name: 'daily', quota: '10000/day' }])
export const middlewares = [express, koa, hono, fastify].map(({ rateLimit }) => rateLimit({ quota, store }))
export const handler: (request: Request, env: { name: string }) => Promise<Response> = fetch.rateLimit({ policies })(
  (request: Request, env: { name: string }) => new Response(`${env.name} ${fetch.decisionOf(request)?.remaining}`),
)
export const guard = typeof httpGuard

const app = new Hono()
app.use(hono.rateLimit({ quota, headers: 'draft-11' }))
app.get('/', (c) => c.text(`${c.get('rateLimit')?.remaining}`))

// @ts-expect-error: a wrong type is refused
perDay('many')
// @ts-expect-error: and so is an option that there is not
hono.rateLimit({ quota, limit: 5 })
