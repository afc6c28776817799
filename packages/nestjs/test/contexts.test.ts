import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common'
import { ExternalContextCreator } from '@nestjs/core'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { fakeClock } from '@spillway/conformance'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import {
  type Decision,
  memoryStore,
  perMinute,
  RateLimit,
  RateLimitDecision,
  RateLimitException,
  RateLimitFilter,
  RateLimitGuard,
  RateLimitModule,
} from '../src/index.ts'
import { appOf, closeApps } from './apps.ts'

afterEach(closeApps)

const limits = (limit: number) =>
  RateLimitModule.forRoot({ quota: perMinute(limit), store: memoryStore({ clock: fakeClock() }) })

test('limits the messages of a WebSocket, each once, and answers denied ones with an event', async () => {
  @WebSocketGateway()
  @UseGuards(RateLimitGuard)
  @UseFilters(RateLimitFilter)
  class Chat {
    @SubscribeMessage('say')
    @RateLimit({ default: { cost: 2 } })
    say() {
      return { event: 'said', data: 'ok' }
    }
  }
  const app = await appOf('Express', [limits(5)], [], [Chat])
  app.useWebSocketAdapter(new WsAdapter(app))
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  const client = new WebSocket(`ws://127.0.0.1:${port}`)
  await once(client, 'open')
  const answers: unknown[] = []
  for (let i = 0; i < 3; i++) {
    client.send(JSON.stringify({ event: 'say', data: 'hello' }))
    const [text] = (await once(client, 'message')) as [Buffer]
    answers.push(JSON.parse(text.toString()))
  }
  client.close()
  const denied = { status: 429, 'violated-policies': ['default'], 'retry-after-ms': 12_000 }
  expect(answers).toEqual([
    { event: 'said', data: 'ok' },
    { event: 'said', data: 'ok' },
    { event: 'exception', data: expect.objectContaining(denied) },
  ])
})

// As @nestjs/graphql calls resolvers.
test('counts every field of a GraphQL query, and sets the headers of its response', async () => {
  @Controller()
  class Resolver {
    @Get()
    field(@RateLimitDecision() decision: Decision) {
      return decision.remaining
    }
  }
  const app = await appOf('Express', [limits(2)], [Resolver])
  await app.init()
  const resolver = app.get(Resolver)
  const create = app.get(ExternalContextCreator, { strict: false })
  const params = { exchangeKeyForValue: () => undefined }
  const resolve = create.create(
    resolver,
    resolver.field as never,
    'field',
    '__routeArguments__',
    params as never,
    undefined,
    undefined,
    { guards: true, filters: false, interceptors: false } as never,
    'graphql',
  )
  const headers = new Map<string, string>()
  const res = {
    headersSent: false,
    on: () => {},
    getHeader: (name: string) => headers.get(name),
    setHeader: (name: string, value: string) => headers.set(name, value),
  }
  const graph = { req: { ip: '192.0.2.1', method: 'POST', headers: {}, socket: {} }, res }
  const field = (): Promise<unknown> => resolve({}, {}, graph, { fieldName: 'field' })
  expect([await field(), await field()]).toEqual([1, 0])
  await expect(field()).rejects.toBeInstanceOf(RateLimitException)
  expect([headers.get('RateLimit'), headers.get('Retry-After')]).toEqual(['"default";r=0;t=30', '30'])
})
