import { createServer, type RequestListener } from 'node:http'
import { type Mount, type NeutralOptions, type Scene, sendTo } from '@spillway/conformance'
import * as forExpress from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forKoa from '@spillway/koa'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { mounts } from './mounts.ts'

// The apps of the adapter suite, for those that need a server.

const served =
  (build: (options: NeutralOptions, scene: Scene) => RequestListener): Mount =>
  (options, scene) =>
    sendTo(createServer(build(options, scene)))

export const allMounts: Readonly<Record<string, Mount>> = {
  Express: served((options, { timeout, inner, onHandled, limited }) => {
    const app = express()
    app.use((_, res, next) => {
      void timeout.then(() => res.status(503).end())
      next()
    })
    for (const each of [options, ...inner]) app.use(limited(forExpress.rateLimit(each)))
    return app.use((req, res) => {
      onHandled()
      res.json({ rateLimit: req.rateLimit })
    })
  }),
  Koa: served((options, { timeout, inner, onHandled, limited }) => {
    const app = new Koa()
    app.silent = true
    app.use((ctx, next) => {
      const expired = timeout.then(() => {
        ctx.status = 503
      })
      return Promise.race([next(), expired])
    })
    for (const each of [options, ...inner]) app.use(limited(forKoa.rateLimit(each)))
    app.use((ctx) => {
      onHandled()
      ctx.body = { rateLimit: ctx.state.rateLimit }
    })
    return app.callback()
  }),
  Fastify: served((options, { timeout, inner, onHandled, limited }) => {
    const app = fastify()
    app.addHook('onRequest', (_, reply, done) => {
      void timeout.then(() => reply.code(503).send())
      done()
    })
    for (const each of [options, ...inner]) app.addHook('onRequest', limited(forFastify.rateLimit(each)))
    app.all('*', async ({ rateLimit }) => {
      onHandled()
      return { rateLimit }
    })
    return async (request, response) => {
      await app.ready()
      app.routing(request, response)
    }
  }),
  ...mounts,
}
