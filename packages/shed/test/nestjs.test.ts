import 'reflect-metadata'
import type { IncomingMessage, Server } from 'node:http'
import { All, Controller, type INestApplication, Inject, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { type Shedder, shedder } from '../src/index.ts'
import { SHEDDER, ShedModule } from '../src/nestjs.ts'
import { type Handle, priority, testShed } from './stories.ts'

const apps: INestApplication[] = []
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

const QUIET = { logger: false, abortOnError: false } as const
const platforms = { Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() }

async function serve(adapter: () => ExpressAdapter | FastifyAdapter, overload: Shedder, handle: Handle) {
  let injected: Shedder | undefined
  class Home {
    constructor(own: Shedder) {
      injected = own
    }

    get(): Promise<string> {
      return handle()
    }
  }
  Controller()(Home)
  Inject(SHEDDER)(Home, undefined, 0)
  All()(Home.prototype, 'get', Object.getOwnPropertyDescriptor(Home.prototype, 'get') as PropertyDescriptor)
  class App {}
  const limit = ShedModule.forRoot<IncomingMessage>({
    shedder: overload,
    priority: ({ headers }) => priority(headers['x-priority'] as string | undefined),
  })
  Module({ imports: [limit], controllers: [Home] })(App)
  const app = await NestFactory.create(App, adapter() as ExpressAdapter, { ...QUIET, forceCloseConnections: true })
  apps.push(app)
  await app.listen(0, '127.0.0.1')
  expect(injected).toBe(overload)
  return app.getHttpServer() as Server
}

for (const [name, adapter] of Object.entries(platforms))
  testShed(name, (overload, handle) => serve(adapter, overload, handle))

describe.each(Object.entries(platforms))('%s', (_, adapter) => {
  test('drops a request before its body is parsed', async () => {
    const overload = shedder({ limit: 1, queue: 0 })
    await overload.acquire()
    const server = await serve(adapter, overload, async () => 'ok')
    const { port } = server.address() as { port: number }
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{ no JSON' }
    expect((await fetch(`http://127.0.0.1:${port}/`, init)).status).toBe(503)
  })
})

test('where Nest serves no HTTP, the module has the shedder alone', async () => {
  class App {}
  Module({ imports: [ShedModule.forRoot()] })(App)
  const context = await NestFactory.createApplicationContext(App, QUIET)
  const overload = context.get<Shedder>(SHEDDER)
  expect(await overload.run(() => 'ok')).toBe('ok')
  await context.close()
})
