import { Controller, type ExecutionContext, Get, Injectable, Logger, Scope } from '@nestjs/common'
import { describe, expect, test, vi } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { bothOf, each, libraries, reported, serve, statusesOf } from './throttler-apps.ts'

describe.each(Object.entries(libraries))('%s', (_, api) => {
  const { seconds, SkipThrottle, Throttle } = api

  test('takes overrides of classes and methods, and functions of the context', async () => {
    @Controller()
    @Throttle({ default: { limit: 3 } })
    class Overridden {
      @Get()
      get() {}

      @Get('strict')
      @Throttle({ default: { limit: async () => 1, ttl: seconds(5) } })
      strict() {}
    }
    const options = { throttlers: [{ limit: 9, ttl: (context: ExecutionContext) => (context ? 60_000 : 0) }] }
    const send = await serve(api, { controllers: [Overridden], options })
    expect(reported(await send())).toEqual({ limit: 3, remaining: 2, reset: 60 })
    expect(reported(await send({ path: '/strict' }))).toEqual({ limit: 1, remaining: 0, reset: 5 })
  })

  test('skips throttlers for classes and methods, which methods can revoke', async () => {
    @Controller()
    @SkipThrottle()
    class Skipped {
      @Get()
      get() {}

      @Get('counted')
      @SkipThrottle({ default: false })
      counted() {}
    }
    @Controller('named')
    class Named {
      @Get()
      @SkipThrottle({ short: true })
      get() {}
    }
    const throttlers = [
      { limit: 1, ttl: 60_000 },
      { name: 'short', limit: 5, ttl: 1_000 },
    ]
    const send = await serve(api, { controllers: [Skipped, Named], options: { throttlers } })
    expect(reported(await send({ path: '/counted' }))).toMatchObject({ limit: 1 })
    expect(reported(await send({ path: '/named' }))).toEqual({ limit: 1, remaining: 0, reset: 60 })
    expect(reported(await send())).not.toHaveProperty('limit')
  })
})

test('a bare @SkipThrottle() skips throttlers of any name', async () => {
  const outcomes = await bothOf(async (api) => {
    @Controller()
    class Skipped {
      @Get()
      @api.SkipThrottle()
      get() {}
    }
    const throttlers = [{ name: 'short', limit: 1, ttl: 60_000 }]
    return statusesOf(await serve(api, { controllers: [Skipped], options: { throttlers } }), 2)
  })
  expect(outcomes).toEqual(each([200, 200], [200, 429]))
})

test('classes of one name count apart', async () => {
  const outcomes = await bothOf(async (api) => {
    const build = (path: string) => {
      @Controller(path)
      class Same {
        @Get()
        get() {}
      }
      return Same
    }
    const options = { throttlers: [{ limit: 1, ttl: 60_000 }] }
    const send = await serve(api, { controllers: [build('a'), build('b')], options })
    return [(await send({ path: '/a' })).status, (await send({ path: '/b' })).status]
  })
  expect(outcomes).toEqual(each([200, 200], [200, 429]))
})

test('a decorator that names no throttler is warned of once', async () => {
  @Controller()
  class Misnamed {
    @Get()
    @ours.Throttle({ hourly: { limit: 1 } })
    get() {}
  }
  const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => {})
  const options = { throttlers: [{ limit: 9, ttl: 60_000 }] }
  const send = await serve(ours, { controllers: [Misnamed], options })
  expect(await statusesOf(send, 2)).toEqual([200, 200])
  expect(warn.mock.calls).toEqual([
    ['A decorator names the throttler "hourly", which is not configured. There are "default".'],
  ])
})

test('a guard that is made for each request warns once', async () => {
  @Controller()
  class Misnamed {
    @Get()
    @ours.Throttle({ daily: { limit: 1 } })
    get() {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class OfRequest extends ours.ThrottlerGuard {}
  const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => {})
  for (const [throttlers, message] of [
    [[{ limit: 9, ttl: 60_000 }], 'A decorator names the throttler "daily"'],
    [[], 'No throttlers are configured'],
  ] as const) {
    warn.mockClear()
    const options = { throttlers: [...throttlers] }
    const send = await serve(ours, { guard: OfRequest, controllers: [Misnamed], options })
    expect(await statusesOf(send, 3)).toEqual([200, 200, 200])
    expect(warn.mock.calls.filter(([text]) => String(text).startsWith(message))).toHaveLength(1)
  }
})
