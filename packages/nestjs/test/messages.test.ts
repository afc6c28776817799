import type { AddressInfo } from 'node:net'
import { type CallHandler, type ExecutionContext, UseGuards, UseInterceptors } from '@nestjs/common'
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js'
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets'
import { fakeClock } from '@spillway/conformance'
import type { RequestDecision } from '@spillway/core/http'
import { afterEach, describe, expect, test } from 'vitest'
import {
  decisionOf,
  memoryStore,
  perMinute,
  RateLimitDecision,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from '../src/index.ts'
import { appOf, closeApps } from './apps.ts'
import { sockets } from './sockets.ts'

afterEach(closeApps)

const options = () => ({
  quota: perMinute(100),
  cost: 10,
  key: () => 'ann',
  store: memoryStore({ clock: fakeClock() }),
})

type Known = RequestDecision | undefined
const remainingOf = (decision: Known) => ({ event: 'said', data: decision?.remaining ?? 'none' })

async function serve([, Adapter, connect]: (typeof sockets)[number], ...gateways: (new () => object)[]) {
  const app = await appOf('Express', [RateLimitModule.forRoot(options())], [], gateways)
  app.useWebSocketAdapter(new Adapter(app))
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  return { limiter: app.get(RateLimiter), client: await connect(port) }
}

describe.each(sockets)('%s', (...platform) => {
  // All messages of a client had one decision if their payloads were no objects.
  test.each(['hello', 5, true, null, { text: 'hello' }, ['hello']])(
    'each message has its own decision, which settles its own cost: %j',
    async (data) => {
      // All guards run before the first handler.
      let arrived = 0
      let release = (): void => {}
      const all = new Promise<void>((resolve) => {
        release = resolve
      })
      @WebSocketGateway()
      @UseGuards(RateLimitGuard)
      class Chat {
        @SubscribeMessage('say')
        async say(@RateLimitDecision() decision: Known) {
          if (++arrived === 3) release()
          await all
          await decision?.settle(1)
          return remainingOf(decision)
        }
      }
      const { limiter, client } = await serve(platform, Chat)
      const answers = await client.send(Array(3).fill({ event: 'say', data }))
      client.close()
      expect(answers.map((each) => each.data)).toEqual([90, 80, 70])
      expect((await limiter.peek('ann')).remaining).toBe(97)
    },
  )

  test('a message that is not counted has no decision', async () => {
    @WebSocketGateway()
    @UseGuards(RateLimitGuard)
    class Chat {
      @SubscribeMessage('say')
      say(@RateLimitDecision() decision: Known) {
        return remainingOf(decision)
      }

      @SubscribeMessage('free')
      @SkipRateLimit()
      free(@RateLimitDecision() decision: Known) {
        return remainingOf(decision)
      }
    }
    const { client } = await serve(platform, Chat)
    const remaining: unknown[] = []
    for (const event of ['say', 'free', 'say']) {
      const [answer] = await client.send([{ event, data: 'hello' }])
      remaining.push(answer?.data)
    }
    client.close()
    expect(remaining).toEqual([90, 'none', 80])
  })

  test('a handler and an interceptor get the arguments of the message as Nest passes them', async () => {
    const seen: unknown[] = []
    const intercept = (context: ExecutionContext, next: CallHandler) => {
      const host = context.switchToWs()
      seen.push(decisionOf(context)?.remaining, host.getData(), (host as { getPattern?(): unknown }).getPattern?.())
      return next.handle()
    }
    @WebSocketGateway()
    @UseGuards(RateLimitGuard)
    @UseInterceptors({ intercept })
    class Chat {
      @SubscribeMessage('say')
      plain(...args: unknown[]) {
        seen.push(args.slice(1).filter((each) => each !== undefined))
        return { event: 'said', data: 'ok' }
      }

      @SubscribeMessage('ask')
      decorated(@MessageBody() text: string, @ConnectedSocket() socket: object) {
        seen.push(text, typeof socket)
        return { event: 'said', data: 'ok' }
      }
    }
    const { client } = await serve(platform, Chat)
    for (const event of ['say', 'ask']) await client.send([{ event, data: 'hello' }])
    client.close()
    expect(seen).toEqual([90, 'hello', 'say', ['hello'], 80, 'hello', 'ask', 'hello', 'object'])
  })
})

// socket.io passes one payload to the handlers of all gateways, ws to one of them.
test('each gateway that gets a message has its own decision', async () => {
  @WebSocketGateway()
  @UseGuards(RateLimitGuard)
  class Chat {
    @SubscribeMessage('say')
    say(@RateLimitDecision() decision: Known) {
      return remainingOf(decision)
    }
  }
  @WebSocketGateway()
  @UseGuards(RateLimitGuard)
  class Log {
    @SubscribeMessage('say')
    @SkipRateLimit()
    say(@RateLimitDecision() decision: Known) {
      return remainingOf(decision)
    }
  }
  const { client } = await serve(sockets[1] as (typeof sockets)[number], Chat, Log)
  const answers = await client.send([{ event: 'say', data: { text: 'hello' } }], 2)
  client.close()
  expect(answers.map(({ data }) => data).sort()).toEqual([90, 'none'])
})

// As a transport of an app's own may call its handlers: nothing identifies such a message.
test('a message of a microservice that is a text without a context is counted, and has no decision', async () => {
  const limiter = new RateLimiter(options())
  class Service {
    log() {}
  }
  const context = new ExecutionContextHost(['hello'], Service, Service.prototype.log)
  context.setType('rpc')
  expect(await new RateLimitGuard(limiter).canActivate(context)).toBe(true)
  expect(decisionOf(context)).toBeUndefined()
  expect((await limiter.peek('ann')).remaining).toBe(90)
})
