// A function of a serverless platform: it answers one request that reserves 5 units and uses 1, and is frozen at once.

import { writeSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { configure } from '@codegenie/serverless-express'
import * as forExpress from '@spillway/express'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { Hono } from 'hono'
import { handle } from 'hono/aws-lambda'
import { Redis } from 'ioredis'
import Koa from 'koa'
import { EVENT, type Framework, RESERVED, USED, type Waits } from './event.ts'

const [framework, waits, port] = process.argv.slice(2) as [Framework, Waits, string]

const options = {
  name: framework,
  quota: forExpress.perDay(100),
  key: () => 'all',
  cost: RESERVED,
  settle: () => USED,
  store: redisStore(new Redis(Number(port))),
  deadline: '10s',
} as const

/** What the platform is asked to wait for before it freezes the process. */
const work: Promise<unknown>[] = []
const context = { waitUntil: (promise: Promise<unknown>) => void work.push(promise) }

/** Each resolves once the platform has the whole response. */
const functions: Readonly<Record<Framework, () => Promise<unknown>>> = {
  Express: () => {
    const app = express().use(forExpress.rateLimit(options), (_req, res) => void res.send('ok'))
    return configure({ app })(EVENT, {}, () => {})
  },
  Koa: () => {
    const app = new Koa().use(forKoa.rateLimit(options)).use((ctx) => {
      ctx.body = 'ok'
    })
    return configure({ app: app.callback() })(EVENT, {}, () => {})
  },
  Node: () => {
    const limit = forNode.rateLimit(options)
    const app = (req: IncomingMessage, res: ServerResponse) => limit(req, res, () => res.end('ok'))
    return configure({ app })(EVENT, {}, () => {})
  },
  Hono: () => {
    const app = new Hono().use(forHono.rateLimit(options)).get('/', (c) => c.text('ok'))
    return handle(app)(EVENT as unknown as Parameters<ReturnType<typeof handle>>[0])
  },
  'Hono on Workers': async () => {
    const app = new Hono().use(forHono.rateLimit(options)).get('/', (c) => c.text('ok'))
    const worker = { ...context, passThroughOnException: () => {}, props: {} }
    return (await app.fetch(new Request('http://host/'), {}, worker)).text()
  },
  'fetch on Netlify': async () => {
    const handler = forFetch.rateLimit(options)((_request: Request, _context: typeof context) => new Response('ok'))
    return (await handler(new Request('http://host/'), context)).text()
  },
  'fetch on Workers': async () => {
    const handler = forFetch.rateLimit(options)(
      (_request: Request, _env: object, _context: typeof context) => new Response('ok'),
    )
    return (await handler(new Request('http://host/'), {}, context)).text()
  },
}

await functions[framework]()
if (waits === 'settled') await forExpress.settled()
if (waits === 'waitUntil') await Promise.all(work)
writeSync(1, 'answered')
process.kill(process.pid, 'SIGSTOP')
