import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { configure } from '@codegenie/serverless-express'
import { perDay, rateLimiter } from '@spillway/core'
import { perMinute as ofExpress, rateLimit as rateLimitExpress, settled } from '@spillway/express'
import { perMinute as ofKoa, rateLimit as rateLimitKoa } from '@spillway/koa'
import { perMinute as ofNode, rateLimit as rateLimitNode } from '@spillway/node'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { Redis } from 'ioredis'
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { EVENT, type Framework, RESERVED, USED, type Waits } from './lifecycle/event.ts'
import { PROGRAM } from './program.ts'
import { type Redis as Server, startRedis } from './services/redis.ts'

// Reproduces a bug: responses on AWS Lambda have no connection and never close, so that no refund was made.

const refundIf = (status: number): boolean => status >= 500

const express5 = () => {
  const app = express()
  app.use(rateLimitExpress({ quota: ofExpress(10), refundIf }))
  app.get('/', (_req, res) => void res.status(503).end('busy'))
  return app
}

const koa = () => {
  const app = new Koa()
  app.use(rateLimitKoa({ quota: ofKoa(10), refundIf }))
  app.use((ctx) => {
    ctx.status = 503
    ctx.body = 'busy'
  })
  return app.callback()
}

const node = () => {
  const limit = rateLimitNode({ quota: ofNode(10), refundIf })
  return (req: IncomingMessage, res: ServerResponse) =>
    limit(req, res, () => {
      res.statusCode = 503
      res.end('busy')
    })
}

test.each([
  ['Express', express5],
  ['Koa', koa],
  ['Node', node],
])('refundIf refunds on AWS Lambda, with %s', async (_, build) => {
  const handler = configure({ app: build() })
  const remaining: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const { statusCode, headers } = await handler(EVENT, {}, () => {})
    remaining.push([statusCode, headers['ratelimit']])
    await settled()
  }
  expect(remaining).toEqual(Array(3).fill([503, '"default";r=9;t=6']))
})

// Reproduces a bug of the docs: a function that was frozen once it had answered kept 5 reserved units where 1 was used.
describe.skipIf(process.platform === 'win32')('frozen once the platform has its response', () => {
  let server: Server
  let redis: Redis
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port)
  })
  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })

  test.each<[Framework, Waits, number]>([
    ['Express', 'nothing', RESERVED],
    ['Express', 'settled', USED],
    ['Koa', 'nothing', RESERVED],
    ['Koa', 'settled', USED],
    ['Node', 'nothing', RESERVED],
    ['Node', 'settled', USED],
    ['Hono', 'nothing', RESERVED],
    ['Hono', 'settled', USED],
    ['Hono on Workers', 'waitUntil', USED],
    ['fetch on Netlify', 'waitUntil', USED],
    ['fetch on Workers', 'nothing', RESERVED],
    ['fetch on Workers', 'waitUntil', USED],
  ])('%s, which has waited for %s, has used %i units', async (framework, waits, units) => {
    await redis.flushall()
    const file = fileURLToPath(new URL('lifecycle/frozen.ts', import.meta.url))
    const args = [framework, waits, String(server.port)]
    const child = fork(file, args, { execArgv: [...PROGRAM], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
    const ended = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGCONT')
      child.kill('SIGKILL')
      await ended
    })
    const [said] = await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, 'data'), ended])
    expect(String(said)).toBe('answered')
    // The process stops itself, before its event loop can go on.
    const limiter = rateLimiter({ name: framework, quota: perDay(100), store: redisStore(redis), deadline: '10s' })
    expect((await limiter.peek('all')).remaining).toBe(100 - units)
  })
})
