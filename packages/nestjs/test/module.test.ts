import { Catch, Controller, Get, type HttpException, Injectable, Module, Post, UseFilters } from '@nestjs/common'
import { REQUEST } from '@nestjs/core'
import { fakeClock, sendTo } from '@spillway/conformance'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type Decision,
  memoryStore,
  perMinute,
  RateLimit,
  RateLimitDecision,
  RateLimitException,
  RateLimiter,
  RateLimitModule,
  type RateLimitOptions,
  SkipRateLimit,
} from '../src/index.ts'
import { appOf, closeApps, platforms, serverOf } from './apps.ts'
import { policies, serve, toldBy } from './module-apps.ts'

afterEach(closeApps)

@Controller('auth')
@RateLimit({ requests: { cost: 2 } })
class Auth {
  @Post('login')
  @RateLimit({ requests: { quota: perMinute(2), cost: 1 } })
  login(@RateLimitDecision() decision: Decision) {
    return decision.policy
  }

  @Get('me')
  me() {
    return 'me'
  }

  @Get('free')
  @SkipRateLimit('requests')
  @SkipRateLimit('daily')
  free() {
    return 'free'
  }

  @Get('half')
  @SkipRateLimit('daily')
  half() {
    return 'half'
  }
}

@Controller('health')
@SkipRateLimit()
class Health {
  @Get()
  ok() {
    return 'ok'
  }
}

@Controller()
class Plain {
  @Get()
  get() {
    return 'ok'
  }
}

describe.each(Object.keys(platforms))('on %s', (platform) => {
  test('limits every route, with the overrides of classes and methods', async () => {
    const send = await serve(platform, { policies } as RateLimitOptions, [Auth, Health])
    expect(await toldBy(send, '/auth/me')).toBe('200 "requests";r=8;t=6, "daily";r=59;t=60')
    expect(await toldBy(send, '/auth/login', 'POST')).toBe('201 "requests:Auth.login";r=1;t=30, "daily";r=58;t=60')
    expect(await toldBy(send, '/auth/half')).toBe('200 "requests";r=6;t=6')
    expect(await toldBy(send, '/auth/free')).toBe('200 undefined')
    expect(await toldBy(send, '/health')).toBe('200 undefined')
    await send({ path: '/auth/login', method: 'POST' })
    const { status, headers, body } = await send({ path: '/auth/login', method: 'POST' })
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([429, '30', 'application/problem+json'])
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['requests:Auth.login'] })
  })

  test('reads and changes the counts of a key by the policies of decorators, too', async () => {
    const store = memoryStore({ clock: fakeClock() })
    const options = { store, policies, trustProxy: 1 } as RateLimitOptions
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    const app = await appOf(platform, [RateLimitModule.forRoot(options)], [Auth])
    const send = await sendTo(await serverOf(app))
    const limiter = app.get(RateLimiter)
    const policy = 'requests:Auth.login'
    await send({ path: '/auth/login', method: 'POST', headers })
    await send({ path: '/auth/me', headers })
    const left = async (options?: { readonly policy: string }) => (await limiter.peek('192.0.2.1', options)).remaining
    expect([await left({ policy }), await left({ policy: 'requests' }), await left()]).toEqual([1, 8, 8])
    expect(await limiter.charge('192.0.2.1', 1, { policy })).toMatchObject({ policy, remaining: 0 })
    expect((await send({ path: '/auth/login', method: 'POST', headers })).status).toBe(429)
    expect([await limiter.reset('192.0.2.1', { policy }), await left({ policy }), await left()]).toEqual([true, 2, 8])
    await expect(limiter.peek('192.0.2.1', { policy: 'requests:Auth.other' })).rejects.toThrow(
      'peek names the policy "requests:Auth.other"; there are "requests", "daily", "requests:Auth.login".',
    )
    await expect(limiter.reset('192.0.2.1', null as never)).rejects.toThrow('reset takes an object of options')
  })

  test('takes one policy beside the options, too', async () => {
    @Controller()
    class Own {
      @Get()
      @RateLimit({ default: { cost: 3 } })
      get(@RateLimitDecision() decision: Decision) {
        return { remaining: decision.remaining }
      }
    }
    const send = await serve(platform, { quota: perMinute(10) }, [Own])
    expect(JSON.parse((await send()).body)).toEqual({ remaining: 7 })
  })

  test('takes its options from other providers', async () => {
    @Injectable()
    class Config {
      readonly limit = 1
    }
    @Module({ providers: [Config], exports: [Config] })
    class ConfigModule {}
    const module = RateLimitModule.forRootAsync({
      imports: [ConfigModule],
      inject: [Config],
      useFactory: async ({ limit }: Config) => ({ quota: perMinute(limit) }),
    })
    const send = await sendTo(await serverOf(await appOf(platform, [module], [Plain])))
    expect([(await send()).status, (await send()).status]).toEqual([200, 429])
  })

  test('keeps headers and the problem document in a filter of a class', async () => {
    @Catch()
    class Everything {
      catch(exception: HttpException, host: { getArgByIndex(index: number): unknown }) {
        const known = exception instanceof RateLimitException ? exception.decision?.policy : 'none'
        const response = host.getArgByIndex(1) as { status(status: number): { send(body: string): void } }
        response.status(exception.getStatus()).send(JSON.stringify([known, exception.getResponse()]))
      }
    }
    @Controller()
    @UseFilters(Everything)
    class Filtered extends Plain {
      @Get()
      override get() {
        return 'ok'
      }
    }
    const send = await serve(platform, { quota: perMinute(1) }, [Filtered])
    await send()
    const { status, headers, body } = await send()
    expect([status, headers['ratelimit'], headers['retry-after']]).toEqual([429, '"default";r=0;t=60', '60'])
    expect(JSON.parse(body)).toEqual(['default', expect.objectContaining({ status: 429 })])
  })

  test('reads the address by trusted hops', async () => {
    const send = await serve(platform, { quota: perMinute(1), trustProxy: 1 }, [Plain])
    const statuses: number[] = []
    for (const from of ['10.0.0.1', '10.0.0.2', 'spoofed, 10.0.0.1']) {
      statuses.push((await send({ headers: { 'x-forwarded-for': from } })).status)
    }
    expect(statuses).toEqual([200, 200, 429])
  })
})

test('an app with @RateLimit and without the module does not start', async () => {
  @Controller()
  class OfMethod {
    @Get()
    @RateLimit({ default: { cost: 2 } })
    get() {}
  }
  const problem = /can't resolve dependencies of the RequireModule \(\?\)[\s\S]*"?RateLimitModule"? at index \[0\]/
  for (const each of [OfMethod, Auth]) {
    await expect(appOf('Express', [], [each]).then((app) => app.init())).rejects.toThrow(problem)
  }
})

// With Nest 10, nothing was limited. Nest 12 refuses such a guard itself.
test('an app whose options depend on a request does not start', async () => {
  const module = RateLimitModule.forRootAsync({ inject: [REQUEST], useFactory: () => ({ quota: perMinute(1) }) })
  await expect(appOf('Express', [module], [Plain]).then((app) => app.init())).rejects.toThrow(
    /forRootAsync injects a provider that Nest makes for each request|depends on a request-scoped provider/,
  )
})

test('a module without a function that makes its options is an error', () => {
  const forRootAsync = (options?: unknown) => () => RateLimitModule.forRootAsync(options as never)
  expect(forRootAsync()).toThrow(/^RateLimitModule\.forRootAsync takes an object of options; got undefined/)
  expect(forRootAsync({})).toThrow(/^useFactory must be a function; got undefined/)
  for (const [name, value] of [
    ['inject', Plain],
    ['imports', {}],
  ] as const) {
    const options = { useFactory: () => ({}), [name]: value }
    expect(forRootAsync(options)).toThrow(new RegExp(`^${name} must be a list, such as ${name}: \\[\\w+\\]; got`))
  }
  expect(forRootAsync({ useClass: Plain })).toThrow(/^RateLimitModule\.forRootAsync has no option "useClass"/)
})

// It was answered with 500.
test.each(Object.keys(platforms))('on %s, a text of onDenied may have the media type of JSON', async (platform) => {
  const onDenied = () => ({ contentType: 'application/json', body: 'stop' })
  const send = await serve(platform, { quota: perMinute(1), onDenied }, [Plain])
  await send()
  expect(await send()).toMatchObject({ status: 429, body: 'stop' })
})
