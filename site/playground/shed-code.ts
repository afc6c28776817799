import type { FrameworkId } from './frameworks.ts'

interface ShedCode {
  /** What it is installed with. */
  readonly install: string
  /** `names` are those of what the options call, each with a comma after it. */
  readonly code: (names: string, options: string) => string
}

/** `shed` where it comes first in an app of each framework. */
export const SHED_CODE: Readonly<Record<FrameworkId, ShedCode>> = {
  express: {
    install: 'express',
    code: (names, options) => `import { ${names}shed } from '@spillway/shed'
import express from 'express'

const app = express()
app.use(shed(${options}))`,
  },
  koa: {
    install: 'koa',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/koa'
import Koa from 'koa'

const app = new Koa()
app.use(shed(${options}))`,
  },
  hono: {
    install: 'hono',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/hono'
import { Hono } from 'hono'

const app = new Hono()
app.use(shed(${options}))`,
  },
  fastify: {
    install: 'fastify',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/fastify'
import fastify from 'fastify'

const app = fastify()
app.addHook('onRequest', shed(${options}))`,
  },
  fetch: {
    install: '',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/fetch'

const limit = shed(${options})
export default { fetch: limit(() => new Response('hello')) }`,
  },
  nestjs: {
    install: '@nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs',
    code: (names, options) => `import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common'
import { ${names}shed } from '@spillway/shed'

@Module({})
export class AppModule implements NestModule {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(shed(${options})).forRoutes('*')
  }
}`,
  },
  h3: {
    install: 'h3',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/fetch'
import { H3 } from 'h3'

const app = new H3()
const limit = shed(${options})
export default { fetch: limit((request) => app.fetch(request)) }`,
  },
  elysia: {
    install: 'elysia @elysiajs/node',
    code: (names, options) => `${imported(names)}import { shed } from '@spillway/shed/fetch'
import { Elysia } from 'elysia'

const app = new Elysia()
const limit = shed(${options})
export default { fetch: limit((request) => app.fetch(request)) }`,
  },
  none: {
    install: '',
    code: (names, options) => `import { ${names}shedder } from '@spillway/shed'

const overload = shedder(${options})
await overload.run(async () => 'what needs the service', { priority: 'critical' })`,
  },
}

/** The entries of frameworks have `shed` alone. */
const imported = (names: string): string =>
  names === '' ? '' : `import { ${names.replace(/, $/, '')} } from '@spillway/shed'\n`
