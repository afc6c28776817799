import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Decision, perHour, rateLimiter, type Store } from '@spillway/core'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { memoryStore } from '@spillway/memory'
import * as forNode from '@spillway/node'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'

/** The failure modes, and the statuses that each may return; `'none'` is an app without a limiter. */
export const actions = { allow: [200], deny: [503], fallback: [200, 429], local: [200, 429], none: [200] } as const
export type Action = keyof typeof actions

/** The quota of a client per hour: so slow that almost nothing refills during a test. */
export const LIMIT = 200
/** The quota of the apps that fall back to local counts: so small that a client can use all of it. */
export const LOCAL_LIMIT = 10
/** The limit of the in-memory fallback. */
const SHARE = 5

/** Statuses of requests that were not answered. */
export const HUNG = 0
export const CRASHED = -1
/** Far longer than a busy machine needs for a response. */
const HUNG_AFTER_MS = 20_000

/** The decisions of an app: those that are allowed by its store, and those without it. */
interface Tally {
  allowedByStore: number
  degraded: number
}

const optionsOf = (store: Store, name: string, action: Exclude<Action, 'none'>, tally: Tally) => ({
  name,
  quota: perHour(action === 'local' ? LOCAL_LIMIT : LIMIT),
  key: 'header:x-client' as const,
  store,
  ...onStoreErrorOf(name, action),
  onDecision({ decision }: { readonly decision: Decision }) {
    if (decision.degraded) tally.degraded++
    else if (decision.allowed) tally.allowedByStore++
  },
})

function onStoreErrorOf(name: string, action: Exclude<Action, 'none'>) {
  // The default.
  if (action === 'local') return {}
  if (action !== 'fallback') return { onStoreError: action }
  return { onStoreError: rateLimiter({ quota: perHour(SHARE), store: memoryStore(), name }) }
}
type Options = ReturnType<typeof optionsOf>

const frameworks: Readonly<Record<string, (options?: Options) => RequestListener | Promise<RequestListener>>> = {
  Node(options) {
    if (options === undefined) return (_, res) => void res.end('ok')
    const limit = forNode.rateLimit(options)
    return (req, res) => limit(req, res, () => res.end('ok'))
  },
  Express(options) {
    const app = express()
    if (options) app.use(forExpress.rateLimit(options))
    app.get('/', (_, res) => void res.send('ok'))
    return app
  },
  Koa(options) {
    const app = new Koa()
    if (options) app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return app.callback()
  },
  Hono(options) {
    const app = new Hono()
    if (options) app.use(forHono.rateLimit(options))
    app.get('/', (c) => c.text('ok'))
    return getRequestListener(app.fetch)
  },
  async Fastify(options) {
    const app = fastify()
    if (options) app.addHook('onRequest', forFastify.rateLimit(options))
    app.get('/', async () => 'ok')
    await app.ready()
    return (req, res) => app.routing(req, res)
  },
}

/** A running app, and its failure mode. */
export interface Served {
  readonly name: string
  readonly action: Action
  readonly tally: Readonly<Tally>
  /** Sends a request as a client; returns the status, and the remaining units if the store reported them. */
  ask(client: string): Promise<{ readonly status: number; readonly remaining: number | undefined }>
  stop(): void
}

/** Each framework with each action, all on one store, and without a limiter. */
export async function serveAll(store: Store): Promise<readonly Served[]> {
  const all = Object.entries(frameworks).flatMap(([name, build]) =>
    (Object.keys(actions) as Action[]).map((action) => serve(`${name} ${action}`, action, build, store)),
  )
  return Promise.all(all)
}

async function serve(name: string, action: Action, build: (typeof frameworks)[string], store: Store): Promise<Served> {
  const tally: Tally = { allowedByStore: 0, degraded: 0 }
  const app = await build(action === 'none' ? undefined : optionsOf(store, name, action, tally))
  // Node closes a connection that is idle for 5 s, which on a busy machine may cross with the next request.
  const server: Server = createServer({ keepAliveTimeout: 600_000 }, app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    name,
    action,
    tally,
    async ask(client) {
      const { degraded } = tally
      try {
        const response = await fetch(url, {
          headers: { 'x-client': client },
          signal: AbortSignal.timeout(HUNG_AFTER_MS),
        })
        await response.arrayBuffer()
        const remaining = /;r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]
        const isByStore = remaining !== undefined && tally.degraded === degraded
        return { status: response.status, remaining: isByStore ? Number(remaining) : undefined }
      } catch (error) {
        return { status: (error as Error).name === 'TimeoutError' ? HUNG : CRASHED, remaining: undefined }
      }
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
