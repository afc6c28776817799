// Prints how often each counted place ran in one unit of work: `work.ts WORK`. The packages are instrumented.

import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { perMinute, rateLimit } from '@spillway/express'
import { rateLimit as honoRateLimit } from '@spillway/hono'
import { rateLimit as koaRateLimit } from '@spillway/koa'
import { rateLimiter } from '@spillway/memory'
import { redisStore } from '@spillway/redis'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'
import { Line } from '../../bench/line.ts'

/** Runs before it is counted, so that nothing is built or read for the first time: a limiter examines the first 100 requests. */
const WARM_UP = 120
const COUNTED = 31

const ENOUGH = perMinute(60_000)

// Time passes with each request only: what runs must not depend on when it is counted.
let elapsedMs = 0
const beganMs = 1_800_000_000_000
Date.now = () => beganMs + elapsedMs
performance.now = () => elapsedMs

/** Does one unit of work. */
type Work = () => void | Promise<void>

/** A request of one client through Express. */
function requestBy(options: Parameters<typeof rateLimit>[0]): Work {
  const app = express()
  app.use(rateLimit(options))
  app.get('/', (_req, res) => {
    res.send('ok')
  })
  return requestTo(createServer(app))
}

function requestByKoa(): Work {
  const app = new Koa()
  app.use(koaRateLimit({ quota: ENOUGH }))
  app.use((ctx) => {
    ctx.body = 'ok'
  })
  return requestTo(createServer(app.callback()))
}

function requestByHono(): Work {
  const app = new Hono()
  app.use(honoRateLimit({ quota: ENOUGH }))
  app.get('/', (c) => c.text('ok'))
  return requestTo(createServer(getRequestListener(app.fetch)) as Server)
}

/** A request of one client, over a socket in memory. */
function requestTo(server: Server): Work {
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  const line = new Line('::ffff:127.0.0.1')
  server.emit('connection', line)
  return () => {
    elapsedMs++
    return line.request()
  }
}

/** A client of Redis to which every key is new. */
const answer = async (): Promise<unknown> => [Date.now() * 1000, 0]
const client = { evalsha: answer, eval: answer, del: async () => 0 }

const works: Readonly<Record<string, () => Work>> = {
  'Express, memory, allowed': () => requestBy({ quota: ENOUGH }),
  'Express, memory, denied': () => requestBy({ quota: perMinute(1) }),
  'Express, Redis, allowed': () => requestBy({ quota: ENOUGH, store: redisStore(client) }),
  'Koa, memory, allowed': requestByKoa,
  'Hono, memory, allowed': requestByHono,
  'consumeSync, allowed': () => {
    const limiter = rateLimiter({ quota: ENOUGH })
    return () => {
      limiter.consumeSync('user:1')
    }
  },
}

async function main(name: string): Promise<void> {
  const counts = (globalThis as unknown as { readonly __counts: Uint32Array }).__counts
  const work = works[name]?.()
  if (work === undefined) throw new RangeError(`no work ${name}`)
  for (let i = 0; i < WARM_UP; i++) await work()
  const runs: Uint32Array[] = []
  for (let i = 0; i < COUNTED; i++) {
    counts.fill(0)
    await work()
    runs.push(counts.slice())
  }
  // In some runs a second begins, or a state expires.
  const median = Array.from(
    counts,
    (_, site) => runs.map((run) => run[site] as number).sort((a, b) => a - b)[COUNTED >> 1],
  )
  process.stdout.write(JSON.stringify(median), () => process.exit(0))
}

void main(process.argv[2] ?? '')
