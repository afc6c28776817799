import 'reflect-metadata'
import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { rateLimit as elysiaLimit } from '@spillway/elysia'
import { rateLimit as expressLimit } from '@spillway/express'
import { rateLimit as fastifyLimit } from '@spillway/fastify'
import { rateLimit as fetchLimit } from '@spillway/fetch'
import { rateLimit as h3Limit } from '@spillway/h3'
import { rateLimit as honoLimit } from '@spillway/hono'
import { rateLimit as koaLimit } from '@spillway/koa'
import { RateLimitModule } from '@spillway/nestjs'
import { rateLimit as nodeLimit } from '@spillway/node'
import { Elysia } from 'elysia'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import { limits } from './limits.ts'

const GREETING = 'ok\n'

/** The same app in each framework, as what a Node server calls. */
export const APPS: Readonly<Record<string, () => RequestListener | Promise<RequestListener>>> = {
  'Express 5': () => {
    const app = express()
    app.use(expressLimit(limits))
    app.get('/', (_req, res) => void res.send(GREETING))
    return app
  },
  'Koa 3': () => {
    const app = new Koa()
    app.use(koaLimit(limits))
    app.use((ctx) => {
      ctx.body = GREETING
    })
    return app.callback()
  },
  'Hono 4': () => {
    const app = new Hono()
    app.use(honoLimit(limits))
    app.get('/', (c) => c.text(GREETING))
    return getRequestListener(app.fetch)
  },
  'Fastify 5': async () => {
    const app = fastify()
    app.addHook('onRequest', fastifyLimit(limits))
    app.get('/', () => Promise.resolve(GREETING))
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  Node: () => {
    const limit = nodeLimit(limits)
    return (request, response) => limit(request, response, () => response.end(GREETING))
  },
  fetch: () => {
    const limit = fetchLimit(limits)
    return getRequestListener(limit(() => new Response(GREETING)))
  },
  'h3 2': () => {
    const app = new H3()
    app.use(h3Limit(limits))
    app.get('/', () => GREETING)
    return toNodeHandler(app) as RequestListener
  },
  'Elysia 1': () => {
    const app = new Elysia().use(elysiaLimit(limits)).get('/', () => GREETING)
    return getRequestListener((request) => app.handle(request))
  },
  'NestJS 12': async () => {
    const app = await NestFactory.create(NestApp, { logger: false, abortOnError: false })
    await app.init()
    return app.getHttpAdapter().getInstance() as RequestListener
  },
}

class Greetings {
  greet(): string {
    return GREETING
  }
}

class NestApp {}

// Decorators as functions: what runs the demo need not know their syntax.
Controller()(Greetings)
Get()(Greetings.prototype, 'greet', Object.getOwnPropertyDescriptor(Greetings.prototype, 'greet') ?? {})
Module({ imports: [RateLimitModule.forRoot(limits)], controllers: [Greetings] })(NestApp)
