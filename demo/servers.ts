import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { perSecond } from '@spillway/core'
import { rateLimit as expressLimit } from '@spillway/express'
import { rateLimit as honoLimit } from '@spillway/hono'
import { rateLimit as koaLimit } from '@spillway/koa'
import express from 'express'
import { Hono } from 'hono'
import Koa from 'koa'

/** The units that refill per second. */
export const RATE = 5
/** The units that a client can consume at once. */
export const BURST = 10

/** The options of all three servers: they use nothing of a framework, so one object works for all. */
const limits = {
  name: 'demo',
  quota: perSecond(RATE, { burst: BURST }),
  key: 'header:x-client',
  cost: 'header:x-request-weight',
  // More than the bucket holds, so that one request can never fit.
  maxCost: 2 * BURST,
} as const

const GREETING = 'ok\n'

/** A server that listens. */
export interface Running {
  readonly framework: string
  readonly url: string
  stop(): void
}

function startExpress(): Promise<Running> {
  const app = express()
  app.use(expressLimit(limits))
  app.get('/', (_req, res) => void res.send(GREETING))
  return running('Express 5', app.listen(0, '127.0.0.1'))
}

function startKoa(): Promise<Running> {
  const app = new Koa()
  app.use(koaLimit(limits))
  app.use((ctx) => {
    ctx.body = GREETING
  })
  return running('Koa 3', app.listen(0, '127.0.0.1'))
}

function startHono(): Promise<Running> {
  const app = new Hono()
  app.use(honoLimit(limits))
  app.get('/', (c) => c.text(GREETING))
  // `serve` can speak HTTP/2 too, hence its wide return type; without TLS options it makes a plain server.
  return running('Hono 4', serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
}

/** Starts the three servers, each on a free port of the loopback interface. */
export const startServers = (): Promise<Running[]> => Promise.all([startExpress(), startKoa(), startHono()])

function running(framework: string, server: Server): Promise<Running> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      const { port } = server.address() as AddressInfo
      const stop = (): void => {
        server.close()
        // Clients keep their connections open, and a server waits for them by default.
        server.closeAllConnections()
      }
      resolve({ framework, url: `http://127.0.0.1:${port}/`, stop })
    })
  })
}
