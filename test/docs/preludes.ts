const QUOTAS =
  'calendarWindow, fixedWindow, leakyBucket, perDay, perHour, perMinute, perMonth, perSecond, divideQuota, penalty, slidingLog, slidingWindow, tokenBucket, warmingUp'

const adapter = (name: string): string =>
  `import { ${QUOTAS}, ipKey, memoryStore, rateLimit, rateLimiter, settled } from '@spillway/${name}'`

const limiter = `import { ${QUOTAS} } from '@spillway/core'; import { memoryStore, rateLimiter } from '@spillway/memory'`

const bindings =
  "declare global { namespace Cloudflare { interface Env { RATE_LIMITS: import('@spillway/cloudflare').RateLimitsNamespace } } }"

/**
 * The preludes of short samples, by the name in `<!-- sample: NAME -->`: imports, and the app or limiter of the sample.
 * Each is one line, so that line numbers have a constant offset.
 */
export const preludes: Readonly<Record<string, string>> = {
  core: limiter,
  memory: limiter,
  limiter: `${limiter}; const limiter = rateLimiter({ quota: perMinute(100) })`,
  express: `${adapter('express')}; import express from 'express'; const app = express()`,
  node: `${adapter('node')}; import { createServer } from 'node:http'`,
  koa: `${adapter('koa')}; import Koa from 'koa'; const app = new Koa()`,
  hono: `${adapter('hono')}; import { serve } from '@hono/node-server'; import { Hono } from 'hono'; const app = new Hono()`,
  fastify: `${adapter('fastify')}; import fastify from 'fastify'; const app = fastify()`,
  h3: `${adapter('h3')}; import { H3 } from 'h3'; const app = new H3()`,
  'h3-1': `${adapter('h3/v1')}; import { createApp, defineEventHandler } from 'h3-1'; const app = createApp()`,
  nestjs: `${adapter('nestjs').replace('rateLimit,', 'RateLimit, RateLimitModule,')}; import { Controller, Get, Module, UseGuards } from '@nestjs/common'`,
  elysia: `${adapter('elysia')}; import { Elysia } from 'elysia'; const app = new Elysia()`,
  fetch: `${adapter('fetch').replace('{', '{ decisionOf,')}; const handler = (request: Request) => new Response(request.url)`,
  conformance: `${limiter}; import { fakeClock, testAdapter, testStore } from '@spillway/conformance'; import { test } from 'node:test'`,
  cloudflare: `import { perMinute, rateLimiter } from '@spillway/core'; import { durableObjectStore } from '@spillway/cloudflare'; import { env } from 'cloudflare:workers'; ${bindings}`,
  workers: bindings,
  postgres: `${limiter}; import { postgresStore } from '@spillway/postgres'; import { Pool } from 'pg'`,
  plans: `${adapter('express')}; import { cached } from '@spillway/plans'; const plan = cached(() => 'free'); const apiKey = 'a key'`,
  client:
    "import { limitedFetch, pacer, readRateLimit } from '@spillway/client'; import { memoryStore, perMinute, perSecond } from '@spillway/memory'; const store = memoryStore()",
  shed: "import { adaptive, shed, shedder, waitByPriority } from '@spillway/shed'; import { memoryStore, perSecond, rateLimiter } from '@spillway/memory'; import { shed as fastifyShed } from '@spillway/shed/fastify'; import { shed as fetchShed } from '@spillway/shed/fetch'; import { shed as honoShed } from '@spillway/shed/hono'; import { shed as koaShed } from '@spillway/shed/koa'; import { shed as h3Shed } from '@spillway/shed/h3'; import { shed as elysiaShed } from '@spillway/shed/elysia'; import { ShedModule } from '@spillway/shed/nestjs'; import { Elysia } from 'elysia'; import express from 'express'; import createFastify from 'fastify'; import { H3 } from 'h3'; import { Hono } from 'hono'; import Koa from 'koa'; const app = express(); const elysia = new Elysia(); const fastify = createFastify(); const h3 = new H3(); const hono = new Hono(); const koa = new Koa(); const db = { query: async (sql: string) => [sql] }",
  opentelemetry: `${limiter}; import { telemetry } from '@spillway/opentelemetry'`,
  redis: `${limiter}; import { redisStore } from '@spillway/redis'; import { Redis } from 'ioredis'; const redis = new Redis()`,
}
