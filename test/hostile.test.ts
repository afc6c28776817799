import type { RequestListener, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { fakeClock } from '@spillway/conformance'
import type { Decision, SyncStore } from '@spillway/core'
import * as forExpress from '@spillway/express'
import { memoryStore } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import express from 'express'
import fc from 'fast-check'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { beforeEach, expect, test, vi } from 'vitest'
import { deliver } from './hostile/deliver.ts'
import {
  AT_ONCE,
  checkAsked,
  checkStatus,
  checkTold,
  deliveryOf,
  type Scenario,
  scenario,
  watched,
} from './hostile/scenario.ts'
import { runsOf } from './runs.ts'

// For any request, an app with a limit responds as without one, or with 429. It counts the right client, and sends headers
// that other parsers can read. `npm run test:long` sends more requests to each framework.
const REQUESTS = runsOf(500)

const COUNTED = { cost: 'header:x-weight', defaultCost: 2, maxCost: 9 } as const
const PARTS = ['header:x-api-key', 'method', 'cookie:sid', 'query:q', 'path'] as const

const optionsOf = (store: SyncStore, seen: Decision[], { policies, headers, jitter, trusted }: Scenario) => ({
  store,
  headers,
  jitter,
  policies: policies.map(({ name, quota, parts }) => ({
    name,
    quota,
    key: parts ? PARTS : ('ip' as const),
    ...COUNTED,
  })),
  onDecision: ({ decision }: { decision: Decision }) => void seen.push(decision),
  ...(trusted && { trustProxy: 1 }),
})

type Options = ReturnType<typeof optionsOf>

const frameworks: Record<string, (options: Options | undefined) => RequestListener> = {
  Express: (options) => {
    const app = express().disable('etag')
    if (options) app.use(forExpress.rateLimit(options))
    return app.use((_, res) => {
      res.end('ok')
    })
  },
  Node: (options) => {
    const limit = options && forNode.rateLimit(options)
    const answer = (res: ServerResponse) => void res.end('ok')
    return (req, res) => (limit ? limit(req, res, () => answer(res)) : answer(res))
  },
  Koa: (options) => {
    const app = new Koa()
    app.silent = true
    if (options) app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Fastify: (options) => {
    const app = fastify()
    if (options) app.addHook('onRequest', forFastify.rateLimit(options))
    // The framework has routes for some methods only.
    app.setNotFoundHandler(async (_, reply) => reply.code(200).send('ok'))
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  fetch: (options) => {
    const answer = (_: Request): Response => new Response('ok')
    return getRequestListener(options ? forFetch.rateLimit(options)(answer) : answer)
  },
  Hono: (options) => {
    const app = new Hono()
    if (options) app.use(forHono.rateLimit(options))
    app.use((c) => Promise.resolve(c.text('ok')))
    return getRequestListener(app.fetch)
  },
}

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

test.each(Object.entries(frameworks))(
  `${REQUESTS} hostile requests in %s: no crash, no 500, no wrong key or cost, and headers that parse`,
  async (_, build) => {
    const bare = build(undefined)
    const count = { sent: 0, denied: 0 }
    const send = async (scenario: Scenario): Promise<void> => {
      const clock = fakeClock()
      const decisions: Decision[] = []
      const { store, asked } = watched(memoryStore({ clock, maxKeys: 40 }))
      const app = build(optionsOf(store, decisions, scenario))
      for (const request of scenario.requests) {
        clock.advance(request.afterMs)
        asked.length = 0
        const delivery = deliveryOf(request, scenario)
        const outcome = await deliver(app, delivery)
        count.sent++
        const decision = asked.length === 0 ? undefined : decisions.at(-1)
        await checkStatus(outcome.status, decision, () => deliver(bare, delivery))
        if (decision === undefined) continue
        if (outcome.status === 429) count.denied++
        checkAsked(asked, scenario, request)
        checkTold(outcome, scenario, decision)
      }
    }
    await fc.assert(fc.asyncProperty(scenario, send), { numRuns: Math.ceil(REQUESTS / AT_ONCE) })
    expect(count.sent).toBeGreaterThanOrEqual(REQUESTS)
    expect(count.denied).toBeGreaterThan(count.sent / 20)
  },
  Math.max(60_000, REQUESTS * 10),
)
