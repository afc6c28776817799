// Counts the promises, timers and clock reads of a decision. The counts say nothing about nanoseconds, but are the same on
// every machine, and show any promise, timer or clock read that is added to the hot path.

import { createHook } from 'node:async_hooks'
import { createServer, get, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Quota, rateLimiter, type StateKey, type Take } from '@spillway/core'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { type MemoryStore, memoryStore, perMinute, slidingLog, slidingWindow } from '@spillway/memory'
import * as forNode from '@spillway/node'
import { type AnyDecisionEvent, telemetry } from '@spillway/opentelemetry'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, test, vi } from 'vitest'

interface Count {
  readonly promises: number
  readonly timers: number
  readonly clockReads: number
}

const TURNS = 9
const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

/** The counts of one run: the median of several, because the test runner also adds some. */
async function countOf(turn: () => unknown): Promise<Count> {
  const made = { promises: 0, timers: 0 }
  const hook = createHook({
    init: (_, type) => {
      if (type === 'PROMISE') made.promises++
      if (type === 'Timeout' || type === 'Immediate') made.timers++
    },
  })
  const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')]
  const reads = (): number => clocks.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  const counts: Count[] = []
  for (let i = 0; i < TURNS; i++) {
    const before = { ...made, clockReads: reads() }
    hook.enable()
    const answer = turn()
    // A synchronous run is not awaited, which would add a promise.
    if (answer instanceof Promise) await answer
    hook.disable()
    counts.push({
      promises: made.promises - before.promises,
      timers: made.timers - before.timers,
      clockReads: reads() - before.clockReads,
    })
  }
  for (const clock of clocks) clock.mockRestore()
  const median = (what: keyof Count): number =>
    counts.map((each) => each[what]).sort((a, b) => a - b)[TURNS >> 1] as number
  return { promises: median('promises'), timers: median('timers'), clockReads: median('clockReads') }
}

const quotas = {
  'a token bucket': perMinute(1_000),
  'a token bucket that is empty': perMinute(1),
  'a sliding window': slidingWindow({ limit: 1_000, window: '1m' }),
  'a sliding log': slidingLog({ limit: 1_000, window: '1m' }),
}

describe.each(Object.entries(quotas))('%s', (_, quota) => {
  const limiter = rateLimiter({ quota, store: memoryStore() })

  test('decides with one clock read', async () => {
    expect(await countOf(() => void limiter.consumeSync('a'))).toEqual({ promises: 0, timers: 0, clockReads: 1 })
  })

  test('creates one more promise for the asynchronous call', async () => {
    expect(await countOf(() => void limiter.consume('a'))).toEqual({ promises: 1, timers: 0, clockReads: 1 })
  })
})

test('decides several quotas with one clock read', async () => {
  const limiter = rateLimiter({ quotas: { one: perMinute(100), two: perMinute(1_000) }, store: memoryStore() })
  expect(await countOf(() => void limiter.consumeSync('a'))).toEqual({ promises: 0, timers: 0, clockReads: 1 })
})

test('a remote store costs three promises, its own, one to await, one timer and three clock reads', async () => {
  const { takeSync, deleteSync } = memoryStore()
  const store = {
    take: async (ops: readonly Take[]) => takeSync(ops),
    delete: async (keys: readonly StateKey[]) => deleteSync(keys),
  }
  const limiter = rateLimiter({ quota: perMinute(1_000), store })
  expect(await countOf(() => limiter.consume('a'))).toEqual({ promises: 5, timers: 1, clockReads: 3 })
})

interface Options {
  readonly policies: readonly { readonly name: string; readonly quota: Quota }[]
  readonly store: MemoryStore
  readonly onDecision?: (event: AnyDecisionEvent) => void
}

/** Each framework with a limiter before its route, and with a middleware that does nothing. */
const apps: Record<string, (options?: Options) => RequestListener | Promise<RequestListener>> = {
  Express: (options) => {
    const app = express()
    app.use(options ? forExpress.rateLimit(options) : (_, __, next) => next())
    app.get('/', (_, res) => {
      res.send('ok')
    })
    return app
  },
  Node: (options) => {
    if (options === undefined) return (_, res) => void res.end('ok')
    const limit = forNode.rateLimit(options)
    return (req, res) => limit(req, res, () => res.end('ok'))
  },
  Koa: (options) => {
    const app = new Koa()
    app.use(options ? forKoa.rateLimit(options) : (_, next) => next())
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Fastify: async (options) => {
    const app = fastify()
    app.addHook('onRequest', options ? forFastify.rateLimit(options) : (_, __, done) => done())
    app.get('/', (_, reply) => reply.send('ok'))
    await app.ready()
    return app.routing
  },
  Hono: (options) => {
    const app = new Hono()
    if (options) app.use(forHono.rateLimit(options))
    else app.use((_, next) => next())
    app.get('/', (c) => c.text('ok'))
    return getRequestListener(app.fetch)
  },
  fetch: (options) => {
    const handler = async (): Promise<Response> => new Response('ok')
    return getRequestListener(options ? forFetch.rateLimit(options)(handler) : handler)
  },
}

/** A request to a server in this process, by a client that creates only the promise that it returns. */
async function asked(listener: RequestListener): Promise<() => Promise<void>> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(() => server.close())
  const { port } = server.address() as AddressInfo
  return () => new Promise((resolve) => get({ port, agent: false }, (res) => res.resume().on('close', resolve)))
}

/** The counts that a limiter adds to a request. */
async function addedBy(framework: string, options: Options): Promise<Count> {
  const app = apps[framework] as (typeof apps)[string]
  const [bare, limited] = [await countOf(await asked(await app())), await countOf(await asked(await app(options)))]
  return {
    promises: limited.promises - bare.promises,
    timers: limited.timers - bare.timers,
    clockReads: limited.clockReads - bare.clockReads,
  }
}

/** The promises that a limiter adds: if handlers return promises, it must await the next handler's. */
const PROMISES: Record<string, number> = { Express: 0, Node: 0, Koa: 0, Fastify: 0, Hono: 2, fetch: 4 }

describe.each(Object.keys(apps))('a request through %s', (framework) => {
  const cost = { promises: PROMISES[framework], timers: 0, clockReads: 1 }

  const policies = [{ name: 'minute', quota: perMinute(1_000) }]

  test('costs one clock read and no timer', async () => {
    expect(await addedBy(framework, { policies, store: memoryStore() })).toEqual(cost)
  })

  test('costs the same under several policies', async () => {
    const several = [...policies, { name: 'burst', quota: perMinute(100) }]
    expect(await addedBy(framework, { policies: several, store: memoryStore() })).toEqual(cost)
  })

  test('costs the same with every hook enabled and without listeners', async () => {
    const measure = telemetry()
    opened.push(measure.subscribe())
    const store = measure.store(memoryStore(), 'memory')
    expect(await addedBy(framework, { policies, store, onDecision: measure.onDecision })).toEqual(cost)
  })
})
