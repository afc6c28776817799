import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { perHour, rateLimiter, type Store } from '@spillway/core'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { memoryStore } from '@spillway/memory'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'

/** What to do without the store, and what a client may then be answered; `'none'` is an app that has no limiter. */
export const actions = { allow: [200], deny: [503], fallback: [200, 429], none: [200] } as const
export type Action = keyof typeof actions

/** What a client may have in an hour: so slow that next to nothing comes back during a test. */
export const LIMIT = 200
/** What the limiter in memory lets through instead. */
export const SHARE = 5

const optionsOf = (store: Store, name: string, action: Exclude<Action, 'none'>) => ({
  name,
  quota: perHour(LIMIT),
  key: 'header:x-client' as const,
  store,
  onStoreError: action === 'fallback' ? rateLimiter({ quota: perHour(SHARE), store: memoryStore(), name }) : action,
})
type Options = ReturnType<typeof optionsOf>

const frameworks: Readonly<Record<string, (options?: Options) => RequestListener | Promise<RequestListener>>> = {
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

/** An app that is served, and what it does without its store. */
export interface Served {
  readonly name: string
  readonly action: Action
  /** Asks as a client; answers the status, and how many requests are left where that is told. */
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
  const server: Server = createServer(await build(action === 'none' ? undefined : optionsOf(store, name, action)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    name,
    action,
    async ask(client) {
      const response = await fetch(url, { headers: { 'x-client': client }, signal: AbortSignal.timeout(10_000) })
      await response.arrayBuffer()
      const remaining = /;r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]
      return { status: response.status, remaining: remaining === undefined ? undefined : Number(remaining) }
    },
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
