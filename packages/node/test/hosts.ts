import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import http2, { type Http2Server } from 'node:http2'
import 'reflect-metadata'
import middie from '@fastify/middie'
import { type MiddlewareConsumer, Module, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import connect from 'connect'
import fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import polka from 'polka'
import polka1 from 'polka-1'
import Router from 'router'

export type Next = (error?: unknown) => void
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: Next) => unknown
export type Handler = (req: IncomingMessage, res: ServerResponse) => void

/** Builds a server that calls each middleware in turn, and then the handler, for all requests below a path. */
export type Host = (middleware: readonly Middleware[], handler: Handler, path?: string) => Promise<Server | Http2Server>

/** What calls `(req, res, next)` in a server without a framework. */
const chain =
  (middleware: readonly Middleware[], handler: Handler) =>
  (req: IncomingMessage, res: ServerResponse): void => {
    const [first, ...rest] = middleware
    if (first === undefined) handler(req, res)
    else first(req, res, () => chain(rest, handler)(req, res))
  }

/** A handler that answers its own errors, where the host answers none: they would end the process, without a response. */
const answering =
  (handler: Handler): Handler =>
  (req, res) => {
    try {
      handler(req, res)
    } catch (error) {
      res.statusCode = (error as { status?: number }).status ?? 500
      res.end()
    }
  }

/** A route of Fastify. It takes the response over last: Fastify answers no error of a handler that has done so. */
const routed =
  (handler: Handler): RouteHandlerMethod =>
  (request, reply) => {
    handler(request.raw, reply.raw)
    reply.hijack()
  }

const inFastify = async (app: FastifyInstance): Promise<Server> => {
  await app.ready()
  return app.server
}

async function inNest(middleware: readonly Middleware[], handler: Handler, path = ''): Promise<Server> {
  class Root {
    configure(consumer: MiddlewareConsumer): void {
      consumer.apply(...(middleware as never[])).forRoutes(`${path}/{*path}`)
    }
  }
  Module({})(Root)
  const app = await NestFactory.create<NestFastifyApplication>(Root as Type, new FastifyAdapter(), { logger: false })
  app.getHttpAdapter().getInstance().all('/*', routed(handler))
  await app.init()
  return inFastify(app.getHttpAdapter().getInstance() as unknown as FastifyInstance)
}

export const hosts: Readonly<Record<string, Host>> = {
  'node:http': async (middleware, handler) => createServer(chain(middleware, answering(handler))),
  'node:http2': async (middleware, handler) => http2.createServer(chain(middleware, answering(handler)) as never),
  connect: async (middleware, handler, path = '') => {
    const app = connect()
    for (const each of middleware) app.use(path, each as connect.NextHandleFunction)
    return createServer(app.use(handler))
  },
  'connect over HTTP/2': async (middleware, handler) => {
    const app = connect()
    for (const each of middleware) app.use(each as connect.NextHandleFunction)
    return http2.createServer(app.use(handler) as never)
  },
  polka: async (middleware, handler, path = '/') =>
    createServer(
      polka()
        .use(path, ...(middleware as never[]))
        .all('*', answering(handler) as never).handler as never,
    ),
  'polka 1': async (middleware, handler, path = '/') =>
    createServer(
      polka1()
        .use(path, ...(middleware as never[]))
        .all('*', handler as never).handler as never,
    ),
  router: async (middleware, handler, path = '/') => {
    const app = Router()
    for (const each of middleware) app.use(path, each as never)
    app.use(handler as never)
    return createServer((req, res) =>
      app(req, res, (error: unknown) => {
        res.statusCode = error ? 500 : 404
        res.end()
      }),
    )
  },
  '@fastify/middie': async (middleware, handler, path = '/') => {
    const app = fastify()
    await app.register(middie)
    for (const each of middleware) app.use(path, each as never)
    app.all('/*', routed(handler))
    return inFastify(app)
  },
  'NestJS on Fastify': inNest,
}
