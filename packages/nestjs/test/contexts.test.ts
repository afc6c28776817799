import type { AddressInfo } from 'node:net'
import { Controller, Get, UseFilters, UseGuards } from '@nestjs/common'
import { ExternalContextCreator } from '@nestjs/core'
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js'
import { WsAdapter } from '@nestjs/platform-ws'
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { fakeClock } from '@spillway/conformance'
import { afterEach, describe, expect, test, vi } from 'vitest'
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
import { sockets } from './sockets.ts'

afterEach(closeApps)
afterEach(() => vi.restoreAllMocks())

const limits = (limit: number) =>
  RateLimitModule.forRoot({ quota: perMinute(limit), store: memoryStore({ clock: fakeClock() }) })

describe.each(sockets)('%s', (_, Adapter, connect) => {
  test.each(['hello', { text: 'hello' }, null])(
    'limits messages by the address of their client, each once, and answers denied ones with an event: %j',
    async (message) => {
      const warn = vi.spyOn(console, 'warn')
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
      app.useWebSocketAdapter(new Adapter(app))
      await app.listen(0, '127.0.0.1')
      const { port } = app.getHttpServer().address() as AddressInfo
      const [ann, bob] = await Promise.all([connect(port), connect(port)])
      const answers = [await ann.say(message), await ann.say(message), await bob.say(message)]
      for (const client of [ann, bob]) client.close()
      const denied = { status: 429, 'violated-policies': ['default'], 'retry-after-ms': 12_000 }
      expect(answers).toEqual([
        { event: 'said', data: 'ok' },
        { event: 'said', data: 'ok' },
        { event: 'exception', data: expect.objectContaining(denied) },
      ])
      expect(warn).not.toHaveBeenCalled()
    },
  )
})

// Its clients counted as one behind a proxy, without a word.
test('warns once of trustProxy on a gateway with ws, unless its key is a function', async () => {
  @WebSocketGateway()
  @UseGuards(RateLimitGuard)
  class Chat {
    @SubscribeMessage('say')
    say() {
      return { event: 'said', data: 'ok' }
    }
  }
  const warningsOf = async ([, Adapter, connect]: (typeof sockets)[number], options: object) => {
    const logger = { warn: vi.fn() }
    const module = RateLimitModule.forRoot({ quota: perMinute(5), logger, ...options })
    const app = await appOf('Express', [module], [], [Chat])
    app.useWebSocketAdapter(new Adapter(app))
    await app.listen(0, '127.0.0.1')
    const client = await connect((app.getHttpServer().address() as AddressInfo).port)
    for (let i = 0; i < 2; i++) expect(await client.say('hello')).toEqual({ event: 'said', data: 'ok' })
    client.close()
    return logger.warn.mock.calls
  }
  const [ws, socketIo] = sockets as [(typeof sockets)[number], (typeof sockets)[number]]
  const warned = [[expect.stringContaining('trustProxy has no effect on a gateway: a client of ws has no headers')]]
  expect(await warningsOf(ws, { trustProxy: 1 })).toEqual(warned)
  expect(await warningsOf(ws, { trustProxy: { hops: 1, header: 'CF-Connecting-IP' } })).toEqual(warned)
  expect(await warningsOf(ws, {})).toEqual([])
  expect(await warningsOf(ws, { trustProxy: 1, key: () => 'ann' })).toEqual([])
  expect(await warningsOf(socketIo, { trustProxy: 1 })).toEqual([])
})

// Nest 10 and 11 call no global guard for messages: the decorator had no effect.
describe('a gateway with @RateLimit', () => {
  class Extended extends RateLimitGuard {}
  const guards: readonly [string, MethodDecorator & ClassDecorator, MethodDecorator & ClassDecorator][] = [
    ['its class', UseGuards(RateLimitGuard), () => {}],
    ['its method', () => {}, UseGuards(RateLimitGuard)],
    ['a guard that extends it', UseGuards(Extended), () => {}],
  ]
  const changes = RateLimit({ default: { cost: 2 } })
  const none = (): void => {}

  const started = async (...decorators: readonly (MethodDecorator & ClassDecorator)[]): Promise<unknown> => {
    const [onClass, guardsClass, onMethod, guardsMethod] = decorators as [
      ClassDecorator,
      ClassDecorator,
      MethodDecorator,
      MethodDecorator,
    ]
    @WebSocketGateway()
    @onClass
    @guardsClass
    class Chat {
      @SubscribeMessage('say')
      @onMethod
      @guardsMethod
      say() {
        return { event: 'said', data: 'ok' }
      }
    }
    const app = await appOf('Express', [limits(5)], [], [Chat])
    app.useWebSocketAdapter(new WsAdapter(app))
    return app.init()
  }

  test('does not start without the guard', async () => {
    const write =
      'Nest calls no guard for "say", so that it is not limited. Write @UseGuards(RateLimitGuard) above the gateway.'
    await expect(started(none, none, changes, none)).rejects.toThrow(write)
    await expect(started(changes, none, none, none)).rejects.toThrow(write)
    await expect(started(none, none, changes, UseGuards({ canActivate: () => true }))).rejects.toThrow(write)
  })

  test.each(guards)('starts if %s has the guard', async (_, guardsClass, guardsMethod) => {
    for (const [onClass, onMethod] of [
      [changes, none],
      [none, changes],
      [none, none],
    ] as const) {
      await started(onClass, guardsClass, onMethod, guardsMethod)
    }
  })
})

// Its letters were the members of the event.
test('a denial that is a text is the message of its event', () => {
  const denial = { status: 429, contentType: 'text/plain', headers: [], body: 'stop' }
  const emit = vi.fn()
  const host = new ExecutionContextHost([{ handshake: {}, emit }, 'hello'])
  host.setType('ws')
  new RateLimitFilter().catch(new RateLimitException(denial), host)
  expect(emit.mock.calls).toEqual([['exception', { status: 'error', message: 'stop' }]])
})

type Resolve = (...args: readonly unknown[]) => Promise<unknown>

/** A method that counts a call, as @nestjs/graphql calls its resolvers. */
async function resolver(limit: number): Promise<Resolve> {
  @Controller()
  class Resolver {
    @Get()
    field(@RateLimitDecision() decision: Decision) {
      return decision.remaining
    }
  }
  const app = await appOf('Express', [limits(limit)], [Resolver])
  await app.init()
  const instance = app.get(Resolver)
  const create = app.get(ExternalContextCreator, { strict: false })
  const params = { exchangeKeyForValue: () => undefined }
  return create.create(
    instance,
    instance.field as never,
    'field',
    '__routeArguments__',
    params as never,
    undefined,
    undefined,
    { guards: true, filters: false, interceptors: false } as never,
    'graphql',
  ) as Resolve
}

/** The context of a client, and the headers of its response. */
const graphOf = (ip: string) => {
  const headers = new Map<string, string>()
  const res = {
    headersSent: false,
    on: () => {},
    getHeader: (name: string) => headers.get(name),
    setHeader: (name: string, value: string) => headers.set(name, value),
  }
  return { graph: { req: { ip, method: 'POST', headers: {}, socket: {} }, res }, headers }
}

test('counts every field of a GraphQL query, and sets the headers of its response', async () => {
  const resolve = await resolver(2)
  const { graph, headers } = graphOf('192.0.2.1')
  const field = (): Promise<unknown> => resolve({}, {}, graph, { fieldName: 'field', fieldNodes: [] })
  expect([await field(), await field()]).toEqual([1, 0])
  await expect(field()).rejects.toBeInstanceOf(RateLimitException)
  expect([headers.get('RateLimit'), headers.get('Retry-After')]).toEqual(['"default";r=0;t=30', '30'])
})

// They get no arguments, so that the info was taken for the context: all clients counted as one.
test.each([
  ['references', []],
  ['types', [{ name: 'Book' }]],
])('counts resolvers of %s by the address of their client, each with its own decision', async (_, type) => {
  const resolve = await resolver(2)
  const info = { fieldName: '_entities', fieldNodes: [] }
  const [ann, bob] = [graphOf('192.0.2.1'), graphOf('192.0.2.2')]
  const all = [ann, ann, bob].map(({ graph }) => resolve({ id: 1 }, graph, info, ...type))
  expect(await Promise.all(all)).toEqual([1, 0, 1])
  expect([ann, bob].map(({ headers }) => headers.get('RateLimit'))).toEqual([
    '"default";r=0;t=30',
    '"default";r=1;t=30',
  ])
})
