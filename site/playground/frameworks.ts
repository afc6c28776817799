interface Framework {
  readonly name: string
  readonly install: string
  readonly code: (make: string, options: string) => string
}

export const FRAMEWORKS = {
  express: {
    name: 'Express',
    install: 'npm install express @spillway/express',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/express'
import express from 'express'

const app = express()
app.use(rateLimit(${options}))`,
  },
  koa: {
    name: 'Koa',
    install: 'npm install koa @spillway/koa',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/koa'
import Koa from 'koa'

const app = new Koa()
app.use(rateLimit(${options}))`,
  },
  hono: {
    name: 'Hono',
    install: 'npm install hono @spillway/hono',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/hono'
import { Hono } from 'hono'

const app = new Hono()
app.use(rateLimit(${options}))`,
  },
  fastify: {
    name: 'Fastify',
    install: 'npm install fastify @spillway/fastify',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/fastify'
import fastify from 'fastify'

const app = fastify()
app.addHook('onRequest', rateLimit(${options}))`,
  },
  fetch: {
    name: 'fetch',
    install: 'npm install @spillway/fetch',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/fetch'

const limit = rateLimit(${options})
export default { fetch: limit(() => new Response('hello')) }`,
  },
  nestjs: {
    name: 'NestJS',
    install: 'npm install @nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs @spillway/nestjs',
    code: (make, options) => `import { Module } from '@nestjs/common'
import { ${make}, RateLimitModule } from '@spillway/nestjs'

@Module({ imports: [RateLimitModule.forRoot(${options})] })
export class AppModule {}`,
  },
  h3: {
    name: 'h3',
    install: 'npm install h3 @spillway/h3',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/h3'
import { H3 } from 'h3'

const app = new H3()
app.use(rateLimit(${options}))`,
  },
  elysia: {
    name: 'Elysia',
    install: 'npm install elysia @elysiajs/node @spillway/elysia',
    code: (make, options) => `import { ${make}, rateLimit } from '@spillway/elysia'
import { Elysia } from 'elysia'

const app = new Elysia()
app.use(rateLimit(${options}))`,
  },
  none: {
    name: 'No HTTP',
    install: 'npm install @spillway/memory',
    code: (make, options) => `import { ${make}, rateLimiter } from '@spillway/memory'

const limiter = rateLimiter(${options})
const { allowed, remaining, retryAfterMs } = await limiter.consume('alice')`,
  },
} satisfies Record<string, Framework>

export type FrameworkId = keyof typeof FRAMEWORKS
export const FRAMEWORK_IDS = Object.keys(FRAMEWORKS) as FrameworkId[]
