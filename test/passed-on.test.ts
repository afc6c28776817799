import { createServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import { Elysia } from 'elysia'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import request from 'supertest'
import { expect, onTestFinished, test } from 'vitest'

// docs/guides/headers.md describes what a client sees if the app passes on the response of a server with limits of its own.

const options = () => ({ quota: perMinute(10), key: () => 'ann', store: memoryStore() })
type PassOn = () => Promise<Response>

/** h3 passes on what Node's own fetch resolves with only if the global Response is Node's own, too. */
const listenerOf = (handler: (request: Request) => Response | Promise<Response>): RequestListener =>
  getRequestListener(handler, { overrideGlobalObjects: false })

type Build = (passOn: PassOn) => RequestListener | Promise<RequestListener>

const ofExpress: Build = (passOn) =>
  express()
    .use(forExpress.rateLimit(options()))
    .use(async (_, res) => {
      const { status, headers } = await passOn()
      res.status(status).setHeaders(headers).end()
    })

const ofNode: Build = (passOn) => {
  const limit = forNode.rateLimit(options())
  return async (req, res) => {
    if (!(await limit(req, res))) return
    const { status, headers } = await passOn()
    res.writeHead(status, Object.fromEntries(headers)).end()
  }
}

const ofKoa: Build = (passOn) => {
  const app = new Koa().use(forKoa.rateLimit(options())).use(async (ctx) => {
    const { status, headers } = await passOn()
    ctx.status = status
    ctx.set(Object.fromEntries(headers))
  })
  return app.callback()
}

const ofFastify: Build = async (passOn) => {
  const app = fastify()
  app.addHook('onRequest', forFastify.rateLimit(options()))
  app.get('/', passOn)
  await app.ready()
  return (req, res) => app.routing(req, res)
}

const ofElysia: Build = (passOn) => listenerOf(new Elysia().use(forElysia.rateLimit(options())).get('/', passOn).handle)

const ofHono: Build = (passOn) => listenerOf(new Hono().use(forHono.rateLimit(options())).get('/', passOn).fetch)

const ofFetch: Build = (passOn) => listenerOf(forFetch.rateLimit(options())(passOn))

const ofH3: Build = (passOn) =>
  toNodeHandler(new H3().use(forH3.rateLimit(options())).get('/', passOn)) as RequestListener

test.each<[string, string, Build]>([
  ['Node', 'upstream', ofNode],
  ['Express', 'upstream', ofExpress],
  ['Koa', 'upstream', ofKoa],
  ['Fastify', 'upstream', ofFastify],
  ['Elysia', 'upstream', ofElysia],
  ['Hono', 'default', ofHono],
  ['fetch', 'default', ofFetch],
  ['h3', 'default', ofH3],
])('a response that %s passes on has the headers of %s', async (_framework, policy, build) => {
  const upstream = createServer((_, res) => {
    res.writeHead(429, {
      'RateLimit-Policy': '"upstream";q=5;w=60',
      RateLimit: '"upstream";r=0;t=9',
      'Retry-After': '9',
      'Content-Length': '0',
    })
    res.end()
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void upstream.close())
  const { port } = upstream.address() as { port: number }
  const app = await build(() => fetch(`http://127.0.0.1:${port}`))
  const { status, headers } = await request(app).get('/')
  expect([status, headers['retry-after']]).toEqual([429, '9'])
  const names = [headers['ratelimit-policy'], headers['ratelimit']].map(
    (field) => /^"(\w+)"[^,]*$/.exec(field ?? '')?.[1],
  )
  expect(names).toEqual([policy, policy])
})
