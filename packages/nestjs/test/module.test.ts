import { Catch, Controller, Get, type HttpException, Injectable, Module, Post, UseFilters } from '@nestjs/common'
import { fakeClock, type Send, sendTo } from '@spillway/conformance'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type Decision,
  memoryStore,
  perHour,
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

afterEach(closeApps)

type Parts = Parameters<typeof appOf>

async function serve(platform: string, options: RateLimitOptions, controllers: Parts[2]) {
  const store = memoryStore({ clock: fakeClock() })
  return sendTo(await serverOf(await appOf(platform, [RateLimitModule.forRoot({ store, ...options })], controllers)))
}

const toldBy = async (send: Send, path: string, method: 'GET' | 'POST' = 'GET') => {
  const { status, headers } = await send({ path, method })
  return `${status} ${headers['ratelimit']}`
}

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

const policies = [
  { name: 'requests', quota: perMinute(10) },
  { name: 'daily', quota: perHour(60) },
]

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

const started = (options: RateLimitOptions, ...controllers: (new () => object)[]) =>
  serve('Express', options, controllers).then(
    () => 'started',
    (error: Error) => error.message,
  )

test('an app with an invalid decorator does not start', async () => {
  @Controller()
  class Unknown {
    @Get()
    @RateLimit({ requets: { cost: 2 } })
    get() {}
  }
  expect(await started({ policies } as RateLimitOptions, Unknown)).toMatch(
    /^@RateLimit: Unknown\.get names the policy "requets"; the policies are requests, daily\./,
  )
  @Controller()
  class Skipping {
    @Get()
    @SkipRateLimit('login')
    get() {}
  }
  expect(await started({ quota: perMinute(1) }, Skipping)).toMatch(
    /^@RateLimit: Skipping\.get names the policy "login"/,
  )
  @Controller()
  class Invalid {
    @Get()
    @RateLimit({ default: { cost: -1 } })
    get() {}
  }
  expect(await started({ quota: perMinute(1) }, Invalid)).toMatch(/cost/)
})

test('the decorators of a method come before those of its class', async () => {
  @Controller()
  @SkipRateLimit()
  class Status {
    @Get()
    get() {}

    @Get('reset')
    @RateLimit({ requests: { quota: perMinute(1) } })
    reset() {}
  }
  const send = await serve('Express', { policies } as RateLimitOptions, [Status])
  expect(await toldBy(send, '/')).toBe('200 undefined')
  expect(await toldBy(send, '/reset')).toBe('200 "requests:Status.reset";r=0;t=60')
  expect((await send({ path: '/reset' })).status).toBe(429)
  @Controller()
  class Both {
    @Get()
    @SkipRateLimit()
    @RateLimit({ requests: { cost: 2 } })
    get() {}
  }
  expect(await started({ policies } as RateLimitOptions, Both)).toMatch(
    /^@RateLimit: Both\.get skips and changes the policy "requests"\. Keep one of the decorators\./,
  )
})

test('an app does not start if a class skips and changes one policy', async () => {
  @Controller('base')
  @RateLimit({ requests: { cost: 2 } })
  class Changed {
    @Get()
    async get() {}
  }
  @Controller('both')
  @SkipRateLimit('requests')
  @RateLimit({ requests: { quota: perMinute(1) } })
  class Both extends Changed {}
  const problem = /^@RateLimit: Both skips and changes the policy "requests"\. Keep one of the decorators\./
  expect(await started({ policies } as RateLimitOptions, Both)).toMatch(problem)
  @Controller('after')
  @RateLimit({ requests: { cost: 3 } })
  @SkipRateLimit()
  class Both2 extends Changed {}
  expect(await started({ policies } as RateLimitOptions, Both2)).toMatch(/Both2 skips and changes/)
  @Controller('heir')
  class Heir extends Both {}
  expect(await started({ policies } as RateLimitOptions, Heir)).toMatch(/skips and changes/)
  // A class may skip what the class that it extends changes.
  @Controller('free')
  @SkipRateLimit()
  class Free extends Changed {}
  const send = await serve('Express', { policies } as RateLimitOptions, [Changed, Free])
  expect(await toldBy(send, '/base')).toMatch(/^200 "/)
  expect(await toldBy(send, '/free')).toBe('200 undefined')
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

test('a decorator whose options would be ignored is an error where it is written', () => {
  const options: [unknown, RegExp][] = [
    [undefined, /^@RateLimit takes an object of options; got undefined\./],
    [Promise.resolve({}), /got a promise\. Await it first\./],
    [new Map([['default', { cost: 2 }]]), /got an object\./],
    [{ default: undefined }, /^@RateLimit of "default" takes an object of options; got undefined\./],
    [{ default: null }, /got null/],
    [{ default: 5 }, /got 5/],
    [{ default: { cots: 5 } }, /^@RateLimit of "default" has no option "cots"\. Did you mean "cost"\?/],
    [{ default: { skip: () => true } }, /has no option "skip"/],
    [
      { cost: 5 },
      /^@RateLimit of "cost" takes an object.*Write the name of a policy first: @RateLimit\(\{ default: \{ cost/,
    ],
    [{ quota: perMinute(5) }, /Write the name of a policy first: @RateLimit\(\{ default: \{ quota: … \} \}\)\./],
  ]
  for (const [each, problem] of options) expect(() => RateLimit(each as never)).toThrow(problem)
  expect(() => SkipRateLimit(null as never)).toThrow(/@SkipRateLimit takes the name of a policy; got null/)
  expect(() => SkipRateLimit(['default'] as never)).toThrow(/got an array/)
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

// The constructor of the base was taken for a method of the class.
test('a class that inherits its limit has one policy of its own', async () => {
  @RateLimit({ default: { quota: perMinute(1) } })
  class Base {
    @Get()
    get() {
      return 'ok'
    }
  }
  @Controller('child')
  class Child extends Base {}
  const app = await appOf('Express', [RateLimitModule.forRoot({ quota: perMinute(2) })], [Child])
  await serverOf(app)
  await expect(app.get(RateLimiter).peek('ann', { policy: 'none' })).rejects.toThrow(
    'peek names the policy "none"; there are "default", "default:Child". ',
  )
})

/** Wraps a method in a function without a name. */
const traced = (_: object, __: string, descriptor: PropertyDescriptor): void => {
  const { value } = descriptor
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    return value.apply(this, args)
  }
}

// Both were `default:Traced.`, and counted as one.
test('methods that a decorator has wrapped count apart, by their names in the class', async () => {
  @Controller()
  class Traced {
    @Get('a')
    @RateLimit({ default: { quota: perMinute(1) } })
    @traced
    a() {}

    @Get('b')
    @RateLimit({ default: { quota: perMinute(1) } })
    @traced
    b() {}
  }
  class Inherited extends Traced {}
  Controller('inherited')(Inherited)
  const send = await serve('Express', { quota: perMinute(9) }, [Traced, Inherited])
  const told: string[] = []
  for (const path of ['/a', '/b', '/inherited/b']) told.push(await toldBy(send, path))
  expect(told).toEqual([
    '200 "default:Traced.a";r=0;t=60',
    '200 "default:Traced.b";r=0;t=60',
    '200 "default:Inherited.b";r=0;t=60',
  ])
})

// It was answered with 500.
test.each(Object.keys(platforms))('on %s, a text of onDenied may have the media type of JSON', async (platform) => {
  const onDenied = () => ({ contentType: 'application/json', body: 'stop' })
  const send = await serve(platform, { quota: perMinute(1), onDenied }, [Plain])
  await send()
  expect(await send()).toMatchObject({ status: 429, body: 'stop' })
})

// @nestjs/throttler counts such classes as one.
test('two classes of one name that would count as one do not start, and count apart with a name', async () => {
  const build = (path: string, name?: string) => {
    @Controller(path)
    @RateLimit({ default: { quota: perMinute(1), ...(name !== undefined && { name }) } })
    class Same {
      @Get()
      get() {
        return 'ok'
      }
    }
    return Same
  }
  expect(await started({ quota: perMinute(9) }, build('a'), build('b'))).toMatch(/two classes are named "Same"/)
  const send = await serve('Express', { quota: perMinute(9) }, [build('a'), build('b', 'b')])
  const statuses: number[] = []
  for (const path of ['/a', '/b', '/a', '/b']) statuses.push((await send({ path })).status)
  expect(statuses).toEqual([200, 200, 429, 429])
})
