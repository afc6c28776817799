import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import * as forElysia from '@spillway/elysia'
import * as forExpress from '@spillway/express'
import { memoryStore, perMinute } from '@spillway/express'
import * as forFastify from '@spillway/fastify'
import * as forFetch from '@spillway/fetch'
import * as forH3 from '@spillway/h3'
import * as forH31 from '@spillway/h3/v1'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import { Elysia } from 'elysia'
import express from 'express'
import fastify, { type FastifyInstance, type FastifyPluginCallback, type FastifyServerOptions } from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { type App, createApp, createRouter, eventHandler, toNodeListener, useBase } from 'h3-1'
import { Hono } from 'hono'
import Koa, { type Middleware } from 'koa'

const optionsFor = (path: string) => ({
  policies: [{ name: 'login', quota: perMinute(1_000_000), key: () => 'all', match: { path } }],
  skip: { path: '/public/*' },
  store: memoryStore(),
})

/** `/v1/login` is `/login`, and `/old` too. */
const rewritten = (url: string): string => url.replace(/^\/v1(?=\/)/, '').replace(/^\/old(?=$|\?)/, '/login')

const served =
  (app: FastifyInstance): RequestListener =>
  async (request, response) => {
    await app.ready()
    app.routing(request, response)
  }

function ofFastify(options: FastifyServerOptions, path = '/login', prefix = ''): RequestListener {
  const app = fastify(options)
  app.addHook('onRequest', forFastify.rateLimit(optionsFor(path)))
  const routes: FastifyPluginCallback = (child, _, done) => {
    child.all('/login', async (_, reply) => reply.header('x-login', '1').send('ok'))
    done()
  }
  void app.register(routes, { prefix })
  return served(app)
}

/** Takes a prefix away and puts it back as koa-mount does: also for what follows the mount, but without `mountPath`. */
const mounted =
  (prefix: string, ...inner: readonly Middleware[]): Middleware =>
  async (ctx, next) => {
    const { path } = ctx
    if (!path.startsWith(`${prefix}/`)) return next()
    ctx['mountPath'] = prefix
    ctx.path = path.slice(prefix.length)
    const below = ctx.path
    const pass = async (): Promise<void> => {
      ctx.path = path
      await next()
      ctx.path = below
    }
    const run = async (i: number): Promise<unknown> => (inner[i] ?? pass)(ctx, () => run(i + 1))
    await run(0)
    ctx.path = path
  }

const passOn: Middleware = (_, next) => next()

const loginAt =
  (path: string): Middleware =>
  (ctx) => {
    if (ctx.path !== path) return
    ctx.set('x-login', '1')
    ctx.body = 'ok'
  }

const login = loginAt('/login')

function ofKoa(...middlewares: readonly Middleware[]): RequestListener {
  const app = new Koa()
  app.silent = true
  for (const each of middlewares) app.use(each)
  return app.callback()
}

const limitKoa = (path: string): Middleware => forKoa.rateLimit(optionsFor(path))

function ofExpress(configure: (app: express.Express) => unknown, path = '/login', at = '/'): RequestListener {
  const app = express()
  configure(app)
  const router = express.Router({ caseSensitive: app.enabled('case sensitive routing') })
  router.use(forExpress.rateLimit(optionsFor(path)))
  router.all('/login', (_, res) => {
    res.set('x-login', '1').end('ok')
  })
  return app.use(at, router)
}

function ofHono(routes: Hono, path = '/login', app = new Hono()): RequestListener {
  app.use(forHono.rateLimit(optionsFor(path)))
  return getRequestListener(app.route('/', routes).fetch)
}

function ofH3(path: string, build: (limited: H3) => H3 = (limited) => limited): RequestListener {
  const limited = new H3({ silent: true })
  limited.use(forH3.rateLimit(optionsFor(path)))
  limited.all('/login', ({ res }) => {
    res.headers.set('x-login', '1')
    return 'ok'
  })
  return toNodeHandler(build(limited)) as RequestListener
}

function ofH31(path: string, build: (limited: App) => App = (limited) => limited): RequestListener {
  const handler = eventHandler(({ node }) => {
    node.res.setHeader('x-login', '1')
    return 'ok'
  })
  const limited = createApp().use(forH31.rateLimit(optionsFor(path)))
  return toNodeListener(build(limited.use(createRouter().use('/login', handler))))
}

const elysiaLogin = new Elysia()
  .use(forElysia.rateLimit(optionsFor('/login')))
  .all('/login', () => new Response('ok', { headers: { 'x-login': '1' } }))

const honoLogin = new Hono().all('/login', (c) => c.body('ok', 200, { 'x-login': '1' })) as Hono

export const apps: Readonly<Record<string, RequestListener>> = {
  Express: ofExpress(() => {}),
  'Express, strict': ofExpress((app) => app.enable('strict routing').enable('case sensitive routing')),
  'Express, rewritten': ofExpress((app) =>
    app.use((req, _, next) => {
      req.url = rewritten(req.url)
      next()
    }),
  ),
  'Express, mounted': ofExpress(() => {}, '/v1/login', '/v1'),
  'Express, rewritten and mounted': ofExpress(
    (app) =>
      app.use((req, _, next) => {
        req.url = req.url.replace(/^\/old(?=\/)/, '/v1')
        next()
      }),
    '/v1/login',
    '/v1',
  ),
  Koa: ofKoa(limitKoa('/login'), login),
  'Koa, path rewritten': ofKoa(
    (ctx, next) => {
      ctx.path = rewritten(ctx.path)
      return next()
    },
    limitKoa('/login'),
    login,
  ),
  'Koa, URL rewritten': ofKoa(
    (ctx, next) => {
      ctx.url = rewritten(ctx.url)
      return next()
    },
    limitKoa('/login'),
    login,
  ),
  'Koa, mounted': ofKoa(mounted('/v1', limitKoa('/v1/login'), login)),
  'Koa, mounted twice': ofKoa(mounted('/old', mounted('/v1', limitKoa('/old/v1/login'), login))),
  'Koa, behind a mount': ofKoa(mounted('/v1', passOn), limitKoa('/v1/login'), loginAt('/v1/login')),
  'Koa, behind mounts': ofKoa(
    mounted('/old', mounted('/v1', passOn)),
    limitKoa('/old/v1/login'),
    loginAt('/old/v1/login'),
  ),
  'Koa, rewritten and behind a mount': ofKoa(
    (ctx, next) => {
      ctx.path = ctx.path.replace(/^\/old(?=\/)/, '/v1')
      return next()
    },
    mounted('/v1', passOn),
    limitKoa('/v1/login'),
    loginAt('/v1/login'),
  ),
  'Koa, mounted behind a mount': ofKoa(
    mounted('/old', mounted('/v1', passOn), limitKoa('/old/v1/login'), loginAt('/v1/login')),
  ),
  'Koa, rewritten and mounted': ofKoa(
    (ctx, next) => {
      ctx.path = ctx.path.replace(/^\/old(?=\/)/, '/v1')
      return next()
    },
    mounted('/v1', limitKoa('/v1/login'), login),
  ),
  'Koa, prefix taken and mounted': ofKoa(
    (ctx, next) => {
      ctx.path = ctx.path.replace(/^\/old(?=\/)/, '')
      return next()
    },
    mounted('/v1', limitKoa('/v1/login'), login),
  ),
  'Koa, mounted and rewritten': ofKoa(
    mounted(
      '/v1',
      (ctx, next) => {
        ctx.path = rewritten(ctx.path)
        return next()
      },
      limitKoa('/v1/login'),
      login,
    ),
  ),
  Fastify: ofFastify({}),
  'Fastify, lenient': ofFastify({
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false },
  }),
  // Its types do not know it there yet.
  'Fastify, semicolons': ofFastify({ routerOptions: { useSemicolonDelimiter: true } as object }),
  'Fastify, rewritten': ofFastify({ rewriteUrl: ({ url = '' }) => rewritten(url) }),
  'Fastify, prefixed': ofFastify({}, '/v1/login', '/v1'),
  Hono: ofHono(honoLogin),
  'Hono, lenient': ofHono(honoLogin, '/login', new Hono({ strict: false })),
  'Hono, routed': ofHono(new Hono().route('/v1', honoLogin), '/v1/login'),
  h3: ofH3('/login'),
  'h3, mounted': ofH3('/v1/login', (limited) => new H3({ silent: true }).mount('/v1', limited)),
  'h3 1': ofH31('/login'),
  'h3 1, mounted': ofH31('/v1/login', (limited) => createApp().use('/v1', limited.handler)),
  'h3 1, based': ofH31('/login', (limited) => createApp().use(useBase('/v1', limited.handler))),
  'h3 1, mounted twice': ofH31('/old/v1/login', (limited) =>
    createApp().use('/old', createApp().use('/v1', limited.handler).handler),
  ),
  Elysia: getRequestListener((request) => elysiaLogin.handle(request)),
  fetch: getRequestListener(
    forFetch.rateLimit(optionsFor('/login'))(({ url }: Request) =>
      new URL(url).pathname === '/login' ? new Response('ok', { headers: { 'x-login': '1' } }) : new Response('no'),
    ),
  ),
}
