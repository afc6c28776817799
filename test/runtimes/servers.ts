import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Mount, NeutralOptions, NeutralRequest } from '@spillway/conformance'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forKoa from '@spillway/koa'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { mounts } from './mounts.ts'

// The apps of the adapter suite, for those that need a server.

const servers: Server[] = []

export function closeServers(): void {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
}

const served =
  (build: (options: NeutralOptions) => RequestListener): Mount =>
  async (options) => {
    const server = createServer(build(options))
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    return async ({ method = 'GET', path = '/', headers = {} }: NeutralRequest = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    }
  }

export const allMounts: Readonly<Record<string, Mount>> = {
  Express: served((options) => {
    const app = express()
    app.use(forExpress.rateLimit(options))
    return app.use((req, res) => {
      res.json({ rateLimit: req.rateLimit })
    })
  }),
  Koa: served((options) => {
    const app = new Koa()
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      ctx.body = { rateLimit: ctx.state.rateLimit }
    })
    return app.callback()
  }),
  Fastify: served((options) => {
    const app = fastify()
    app.addHook('onRequest', forFastify.rateLimit(options))
    app.all('*', async ({ rateLimit }) => ({ rateLimit }))
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  }),
  ...mounts,
}
