import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { handlers } from './handlers.ts'
import { ETAG, type Options, TEXT } from './options.ts'

/** The same app in each framework: `/` answers, `/fails` and `/shared` throw, `/cached` knows its version. */
export const frameworks: Record<string, (options: Options) => RequestListener> = {
  Express: (options) => {
    const shared = new Error('the same each time')
    const app = express()
    app.use(forExpress.rateLimit(options))
    app.all('/', (_, res) => {
      res.set('content-type', TEXT).send('ok')
    })
    app.all('/fails', () => {
      throw new Error('no')
    })
    app.all('/shared', () => {
      throw shared
    })
    app.all('/cached', (_, res) => {
      res.set('etag', ETAG).send('ok')
    })
    return app
  },
  Node: (options) => {
    const limit = forNode.rateLimit(options as never)
    return (req, res) =>
      limit(req, res, (error) => {
        const [path] = (req.url as string).split('?', 1)
        if (error !== undefined || path === '/fails' || path === '/shared') return res.writeHead(500).end('no')
        if (path === '/cached') res.setHeader('etag', ETAG)
        if (path === '/cached' && req.headers['if-none-match'] === ETAG) return res.writeHead(304).end()
        return res.writeHead(200, { 'content-type': TEXT }).end('ok')
      })
  },
  Koa: (options) => {
    const shared = new Error('the same each time')
    const app = new Koa()
    app.silent = true
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      if (ctx.path === '/fails') throw new Error('no')
      if (ctx.path === '/shared') throw shared
      ctx.set('content-type', TEXT)
      ctx.body = 'ok'
      if (ctx.path === '/cached') ctx.set('etag', ETAG)
      if (ctx.fresh) ctx.status = 304
    })
    return app.callback()
  },
  Fastify: (options) => {
    const shared = new Error('the same each time')
    const app = fastify()
    app.addHook('onRequest', forFastify.rateLimit(options))
    app.all('/', async () => 'ok')
    app.all('/fails', async () => {
      throw new Error('no')
    })
    app.all('/shared', async () => {
      throw shared
    })
    app.all('/cached', async ({ headers }, reply) => {
      void reply.header('etag', ETAG)
      return headers['if-none-match'] === ETAG ? reply.code(304).send() : 'ok'
    })
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  },
  ...Object.fromEntries(
    Object.entries(handlers).map(([name, build]) => [name, (options: Options) => getRequestListener(build(options))]),
  ),
}
