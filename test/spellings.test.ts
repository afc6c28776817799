import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import { perMinute } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import connectApp from 'connect'
import { Elysia } from 'elysia'
import express from 'express'
import fastify, { type FastifyServerOptions } from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3-1'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterEach, describe, expect, test } from 'vitest'

// A policy for a path must not be walked around by another spelling of it, of which routers take many. So each request
// that a framework's own router leads to the handler must have been counted.

const options = { quota: perMinute(1000), match: { method: 'GET', path: '/users/:id/login' }, key: () => 'ann' }
const counted = (decision: object | undefined): string => (decision ? 'counted' : 'missed')

const frameworks: Record<string, () => RequestListener | Promise<RequestListener>> = {
  Express: () => {
    const app = express()
    app.use(forExpress.rateLimit(options))
    app.get('/users/:id/login', (req, res) => {
      res.send(counted(req.rateLimit))
    })
    return app
  },
  'Express, below a mount': () => {
    const [app, router] = [express(), express.Router()]
    router.use(forExpress.rateLimit(options))
    router.get('/:id/login', (req, res) => {
      res.send(counted(req.rateLimit))
    })
    return app.use('/users', router)
  },
  Node: () => {
    const limit = forNode.rateLimit(options)
    return (req, res) => {
      limit(req, res, () => {
        const { pathname } = new URL(req.url ?? '', 'http://localhost')
        if (/^\/users\/[^/]+\/login$/.test(pathname)) res.end(counted(forNode.decisionOf(req)))
        else res.writeHead(404).end()
      })
    }
  },
  'connect, below a mount': () => {
    const app = connectApp()
    app.use('/users', forNode.rateLimit(options))
    app.use('/users', (req, res, next) => {
      if (/^\/[^/]+\/login$/.test((req.url ?? '').split(/[?#]/, 1)[0] ?? '')) res.end(counted(forNode.decisionOf(req)))
      else next()
    })
    return app
  },
  Koa: () => {
    const app = new Koa()
    app.silent = true
    app.use(forKoa.rateLimit(options))
    app.use((ctx) => {
      if (/^\/users\/[^/]+\/login$/.test(ctx.path)) ctx.body = counted(ctx.state.rateLimit)
    })
    return app.callback()
  },
  Hono: () => {
    const app = new Hono()
    app.use(forHono.rateLimit(options))
    app.get('/users/:id/login', (c) => c.text(counted(c.get('rateLimit'))))
    return getRequestListener(app.fetch)
  },
  Fastify: () => ofFastify({}),
  'Fastify, lenient': () =>
    ofFastify({ routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, caseSensitive: false } }),
  h3: () => {
    const app = new H3({ silent: true })
    app.use(forH3.rateLimit(options))
    app.get('/users/:id/login', (event) => counted(event.context.rateLimit))
    return toNodeHandler(app) as RequestListener
  },
  'h3, mounted': () => {
    const [app, inner] = [new H3({ silent: true }), new H3()]
    inner.use(forH3.rateLimit(options))
    inner.get('/:id/login', (event) => counted(event.context.rateLimit))
    return toNodeHandler(app.mount('/users', inner)) as RequestListener
  },
  'h3 1': () => {
    const handler = eventHandler((event) => counted(event.context['rateLimit']))
    const router = createRouter().get('/users/:id/login', handler)
    return toNodeListener(createApp().use(forH31.rateLimit(options)).use(router))
  },
  'h3 1, mounted': () => {
    const handler = eventHandler((event) => counted(event.context['rateLimit']))
    const inner = createApp().use(forH31.rateLimit(options)).use(createRouter().get('/:id/login', handler))
    return toNodeListener(createApp().use('/users', inner.handler))
  },
  Elysia: () => {
    const app = new Elysia().use(forElysia.rateLimit(options))
    app.get('/users/:id/login', ({ request }) => counted(forElysia.decisionOf(request)))
    return getRequestListener((request) => app.handle(request))
  },
  fetch: () => {
    const limit = forFetch.rateLimit(options)
    return getRequestListener(
      limit((request) => {
        const reached = /^\/users\/[^/]+\/login$/.test(new URL(request.url).pathname)
        return new Response(reached ? counted(forFetch.decisionOf(request)) : 'none')
      }),
    )
  },
}

async function ofFastify(settings: FastifyServerOptions): Promise<RequestListener> {
  const app = fastify(settings)
  app.addHook('onRequest', forFastify.rateLimit(options))
  app.get('/users/:id/login', async (request) => counted(request.rateLimit))
  await app.ready()
  return (request, response) => app.routing(request, response)
}

const spellings = ['', 'http://host', 'HTTP://host:80', 'ftp://a;b', 'http://user@host', '//host'].flatMap((before) =>
  [
    '/users/7/login',
    '/users/7/login#fragment',
    '/users/7/login?query',
    '/users/7/login#?',
    '/users/7/login/',
    '/Users/7/LOGIN',
    '/users/7/%6cogin',
    '/%75sers/7/login',
    '/users//7/login',
    '//users/7/login',
    '/users/7/./login',
    '/x/../users/7/login',
    '/users/7/login/.',
    '/users/a%2fb/login',
    '/users/%zz/login',
    '/users/7/login;a=1',
    '/users;a/7/login',
    '/;a/users/7/login',
    '/users\\7\\login',
    '/users\\7/login#',
    '\\users/7/login#',
    '/users/7/login%20',
    '/users/7/login%00',
    '/users/;/login',
    '/users/\\/login',
    '/users/\\/login#',
    '/users//login',
    '/users//login/',
    '/users//login//',
    '/users/%5c/login',
    '/users/./login',
    '/users/%2e/login',
    '/users/%3b/login',
  ].map((path) => before + path),
)

let server: Server
afterEach(() => void server.close())

/** The response to a raw request line, which HTTP clients would normalise. */
function raw(port: number, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
    })
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

describe.each(Object.entries(frameworks))('in %s', (_, build) => {
  test('counts every request that reaches the handler', async () => {
    server = createServer(await build())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const answers = await Promise.all(
      spellings.map(async (path) => [path, /counted|missed/.exec(await raw(port, `GET ${path}`))?.[0]]),
    )
    expect(answers.filter(([, answer]) => answer === 'missed')).toEqual([])
    expect(answers.filter(([, answer]) => answer === 'counted').length).toBeGreaterThanOrEqual(4)
    expect(await raw(port, 'HEAD /users/7/login')).toMatch(/^RateLimit: "default";r=/im)
  })
})
