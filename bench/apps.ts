import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import fastifyRateLimit from '@fastify/rate-limit'
import { getRequestListener } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import * as forExpress from '@spillway/express'
import * as compat from '@spillway/express/compat'
import * as forFastify from '@spillway/fastify'
import * as forHono from '@spillway/hono'
import * as forKoa from '@spillway/koa'
import * as forNode from '@spillway/node'
import express, { type RequestHandler } from 'express'
import expressRateLimit from 'express-rate-limit'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono, type MiddlewareHandler } from 'hono'
import { rateLimiter as honoRateLimiter } from 'hono-rate-limiter'
import Koa, { type Middleware } from 'koa'
import koaRateLimit from 'koa-ratelimit'
import { RateLimit as Koa2RateLimit } from 'koa2-ratelimit'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { bucketsOfTenFields } from './floors.ts'

/** Makes a server, which does not listen yet. */
export type App = () => Server | Promise<Server>

/** A quota that denies nothing, and one that denies nearly everything. */
const AMPLE = 1_000_000_000
const SCANT = 1
const HOUR = 3_600_000

const ours = (limit: number, headers: 'draft-6' | 'draft-7' | 'draft-8' | 'legacy-epoch' | 'legacy-delta') => ({
  quota: forExpress.tokenBucket({ limit: 10_000_000, per: '365d', burst: limit === AMPLE ? 10_000_000 : limit }),
  headers,
})

function inExpress(...middleware: RequestHandler[]): Server {
  const app = express()
  for (const each of middleware) app.use(each)
  app.get('/', (_, res) => {
    res.send('Hello')
  })
  return createServer(app)
}

/** Of each algorithm, a limiter. */
const ofAllAlgorithms = (): readonly RequestHandler[] =>
  [
    forExpress.tokenBucket({ limit: 10, per: '1s' }),
    forExpress.fixedWindow({ limit: 10, window: HOUR }),
    forExpress.slidingWindow({ limit: 10, window: HOUR }),
    forExpress.slidingLog({ limit: 10, window: HOUR }),
    forExpress.penalty({ after: 10, within: HOUR, block: HOUR }),
    forExpress.warmingUp({ limit: 10, per: '1s', warmUpPeriod: '1m' }),
  ].map((quota) => forExpress.rateLimit({ quota }))

/** While the server becomes warm, its requests pass one of all limiters after the other: engines compile what these share. */
const MIXED = 6_000

function besideAllAlgorithms(measured: RequestHandler): RequestHandler {
  const others = ofAllAlgorithms()
  let left = MIXED
  return (req, res, next) => {
    const limit = left > 0 ? (others[left-- % others.length] as RequestHandler) : measured
    limit(req, res, next)
  }
}

const theirsInExpress = (limit: number, standardHeaders: 'draft-6' | 'draft-7' | 'draft-8') =>
  expressRateLimit({ limit, windowMs: HOUR, standardHeaders, legacyHeaders: false })

const compatInExpress = (limit: number, standardHeaders: 'draft-6' | 'draft-7' | 'draft-8') =>
  compat.rateLimit({ limit, windowMs: HOUR, standardHeaders, legacyHeaders: false })

/** The minimum for each limiter: identify the client by its address, count, and report the remaining units. */
interface Baseline {
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The status of denied requests. */
  readonly denial: string | undefined
  readonly decision: Reported
}

type Reported = ReturnType<ReturnType<typeof bucketsOfTenFields>>

/** The header fields of a decision. */
type Fields = (decision: Reported) => [name: string, value: string][]

const threeFields = (prefix: string, { limit, remaining, resetAfterMs }: Reported): [string, string][] => [
  [`${prefix}-Limit`, String(limit)],
  [`${prefix}-Remaining`, String(remaining)],
  [`${prefix}-Reset`, String(Math.ceil(resetAfterMs / 1000))],
]

const fields = {
  legacy: (reported) => threeFields('X-RateLimit', reported),
  'draft-6': (reported) => [...threeFields('RateLimit', reported), ['RateLimit-Policy', `${reported.limit};w=3600`]],
  'draft-8': ({ limit, remaining, resetAfterMs }) => [
    ['RateLimit-Policy', `"default";q=${limit};w=3600`],
    ['RateLimit', `"default";r=${remaining};t=${Math.ceil(resetAfterMs / 1000)}`],
  ],
} satisfies Record<string, Fields>

function baseline(burst: number, fieldsOf: Fields): (address: string | undefined) => Baseline {
  const decide = bucketsOfTenFields({ limit: 0.001, burst })
  return (address = '') => {
    const decision = decide(address)
    const headers = fieldsOf(decision)
    if (decision.allowed) return { headers, denial: undefined, decision }
    const wait = Math.ceil(decision.retryAfterMs / 1000)
    headers.push(['Retry-After', String(wait)])
    return { headers, denial: `Too many requests. Come back in ${wait} seconds.`, decision }
  }
}

function baselineInExpress(
  burst: number,
  fieldsOf: Fields,
  reported: 'reported' | 'untold' = 'untold',
): RequestHandler {
  const judge = baseline(burst, fieldsOf)
  return (req, res, next) => {
    const { headers, denial, decision } = judge(req.ip)
    if (reported === 'reported') (req as { rateLimit?: unknown }).rateLimit = decision
    for (const [name, value] of headers) res.setHeader(name, value)
    if (denial === undefined) next()
    else res.status(429).end(denial)
  }
}

function baselineInKoa(burst: number): Middleware {
  const judge = baseline(burst, fields.legacy)
  return (ctx, next) => {
    const { headers, denial } = judge(ctx.ip)
    for (const [name, value] of headers) ctx.set(name, value)
    if (denial === undefined) return next()
    ctx.status = 429
    ctx.body = denial
    return Promise.resolve()
  }
}

function baselineInHono(burst: number): MiddlewareHandler {
  const judge = baseline(burst, fields['draft-6'])
  return async (c, next) => {
    const { headers, denial } = judge(getConnInfo(c).remote.address)
    for (const [name, value] of headers) c.header(name, value)
    if (denial !== undefined) return c.text(denial, 429)
    return next()
  }
}

function baselineInFastify(burst: number): (app: FastifyInstance) => void {
  const judge = baseline(burst, fields.legacy)
  return (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { headers, denial } = judge(request.ip)
      for (const [name, value] of headers) reply.header(name, value)
      if (denial === undefined) done()
      else reply.code(429).send(denial)
    })
  }
}

function inKoa(...middleware: Middleware[]): Server {
  const app = new Koa()
  for (const each of middleware) app.use(each)
  app.use((ctx) => {
    ctx.body = 'Hello'
  })
  return createServer(app.callback())
}

const theirsInKoa = (max: number) => koaRateLimit({ driver: 'memory', db: new Map(), duration: HOUR, max })

function inHono(...middleware: MiddlewareHandler[]): Server {
  const app = new Hono()
  for (const each of middleware) app.use(each)
  app.get('/', (c) => c.text('Hello'))
  return createServer(getRequestListener(app.fetch)) as Server
}

const theirsInHono = (limit: number) =>
  honoRateLimiter({ limit, windowMs: HOUR, keyGenerator: (c) => getConnInfo(c).remote.address ?? '' })

async function inFastify(limiter?: (app: FastifyInstance) => unknown): Promise<Server> {
  const app = fastify()
  await limiter?.(app)
  app.get('/', (_, reply) => reply.send('Hello'))
  await app.ready()
  return app.server
}

const greet = (response: ServerResponse): unknown => response.end('Hello')

const inNode = (listener: RequestListener): Server => createServer(listener)

function oursInNode(limit: number): Server {
  const limited = forNode.rateLimit(ours(limit, 'draft-8'))
  return inNode((request, response) => limited(request, response, () => greet(response)))
}

function baselineInNode(burst: number): Server {
  const judge = baseline(burst, fields['draft-8'])
  return inNode((request, response) => {
    const { headers, denial } = judge(request.socket.remoteAddress)
    for (const [name, value] of headers) response.setHeader(name, value)
    if (denial === undefined) greet(response)
    else response.writeHead(429).end(denial)
  })
}

/** As its documentation writes a middleware for plain Node, with the header fields. */
function flexibleInNode(points: number): Server {
  const limiter = new RateLimiterMemory({ points, duration: HOUR / 1000 })
  const report = (response: ServerResponse, { remainingPoints, msBeforeNext }: RateLimiterRes): void => {
    const resetAfterMs = msBeforeNext
    const reported = { limit: points, remaining: remainingPoints, resetAfterMs } as Reported
    for (const [name, value] of fields['draft-8'](reported)) response.setHeader(name, value)
  }
  return inNode((request, response) => {
    limiter.consume(request.socket.remoteAddress ?? '').then(
      (found) => {
        report(response, found)
        greet(response)
      },
      (found: RateLimiterRes) => {
        report(response, found)
        response.setHeader('Retry-After', String(Math.ceil(found.msBeforeNext / 1000)))
        response.writeHead(429).end('Too many requests.')
      },
    )
  })
}

/** The same route in each framework: alone, and behind each limiter, with the header fields that the rival writes. */
export const apps = {
  node: {
    'no limiter': () => inNode((_, response) => greet(response)),
    'hand-written, draft-8': () => baselineInNode(AMPLE),
    'spillway, draft-8': () => oursInNode(AMPLE),
    'rate-limiter-flexible, draft-8': () => flexibleInNode(AMPLE),
    'hand-written, denying': () => baselineInNode(SCANT),
    'spillway, denying': () => oursInNode(SCANT),
    'rate-limiter-flexible, denying': () => flexibleInNode(SCANT),
  },
  express: {
    'no limiter': () => inExpress(),
    'hand-written, draft-6': () => inExpress(baselineInExpress(AMPLE, fields['draft-6'])),
    'hand-written, draft-6, with req.rateLimit': () =>
      inExpress(baselineInExpress(AMPLE, fields['draft-6'], 'reported')),
    'spillway, draft-6': () => inExpress(forExpress.rateLimit(ours(AMPLE, 'draft-6'))),
    'express-rate-limit, draft-6': () => inExpress(theirsInExpress(AMPLE, 'draft-6')),
    'hand-written, draft-8, with req.rateLimit': () =>
      inExpress(baselineInExpress(AMPLE, fields['draft-8'], 'reported')),
    'spillway, draft-8': () => inExpress(forExpress.rateLimit(ours(AMPLE, 'draft-8'))),
    'spillway, draft-8, with all algorithms in use': () =>
      inExpress(besideAllAlgorithms(forExpress.rateLimit(ours(AMPLE, 'draft-8')))),
    'spillway/compat, draft-8': () => inExpress(compatInExpress(AMPLE, 'draft-8')),
    'express-rate-limit, draft-8': () => inExpress(theirsInExpress(AMPLE, 'draft-8')),
    'hand-written, denying': () => inExpress(baselineInExpress(SCANT, fields['draft-8'])),
    'spillway, denying': () => inExpress(forExpress.rateLimit(ours(SCANT, 'draft-8'))),
    'express-rate-limit, denying': () => inExpress(theirsInExpress(SCANT, 'draft-8')),
  },
  koa: {
    'no limiter': () => inKoa(),
    'hand-written, legacy': () => inKoa(baselineInKoa(AMPLE)),
    'spillway, legacy': () => inKoa(forKoa.rateLimit(ours(AMPLE, 'legacy-epoch'))),
    'koa-ratelimit': () => inKoa(theirsInKoa(AMPLE)),
    'koa2-ratelimit': () => inKoa(Koa2RateLimit.middleware({ interval: HOUR, max: AMPLE })),
    'hand-written, denying': () => inKoa(baselineInKoa(SCANT)),
    'spillway, denying': () => inKoa(forKoa.rateLimit(ours(SCANT, 'legacy-epoch'))),
    'koa-ratelimit, denying': () => inKoa(theirsInKoa(SCANT)),
  },
  hono: {
    'no limiter': () => inHono(),
    'hand-written, draft-6': () => inHono(baselineInHono(AMPLE)),
    'spillway, draft-6': () => inHono(forHono.rateLimit(ours(AMPLE, 'draft-6'))),
    'hono-rate-limiter, draft-6': () => inHono(theirsInHono(AMPLE)),
    'hand-written, denying': () => inHono(baselineInHono(SCANT)),
    'spillway, denying': () => inHono(forHono.rateLimit(ours(SCANT, 'draft-6'))),
    'hono-rate-limiter, denying': () => inHono(theirsInHono(SCANT)),
  },
  fastify: {
    'no limiter': () => inFastify(),
    'hand-written, legacy': () => inFastify(baselineInFastify(AMPLE)),
    'spillway, legacy': () =>
      inFastify((app) => app.addHook('onRequest', forFastify.rateLimit(ours(AMPLE, 'legacy-delta')))),
    '@fastify/rate-limit': () => inFastify((app) => app.register(fastifyRateLimit, { max: AMPLE, timeWindow: HOUR })),
    'hand-written, denying': () => inFastify(baselineInFastify(SCANT)),
    'spillway, denying': () =>
      inFastify((app) => app.addHook('onRequest', forFastify.rateLimit(ours(SCANT, 'legacy-delta')))),
    '@fastify/rate-limit, denying': () =>
      inFastify((app) => app.register(fastifyRateLimit, { max: SCANT, timeWindow: HOUR })),
  },
} satisfies Record<string, Record<string, App>>
