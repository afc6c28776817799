import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Logger,
  Module,
  Scope,
  type Type,
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import * as theirs from '@nestjs/throttler'
import { fakeClock, type NeutralRequest, type Send, sendTo } from '@spillway/conformance'
import { memoryStore } from '@spillway/memory'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { appOf, closeApps, platforms, serverOf } from './apps.ts'

// What the documentation of @nestjs/throttler promises, on the original and here. The original needs the newest Nest.

type Api = typeof ours
type Storage = InstanceType<Api['ThrottlerStorageService']>
const libraries: Record<string, Api> = { '@spillway/nestjs/throttler': ours }
if (process.env.FRAMEWORKS !== 'oldest') libraries['@nestjs/throttler'] = theirs as unknown as Api

const START = Date.UTC(2026, 0, 1)
let clock = fakeClock()
beforeEach(() => {
  clock = fakeClock()
  vi.useFakeTimers({ toFake: ['Date'], now: START })
})
afterEach(async () => {
  vi.useRealTimers()
  await closeApps()
})

function advance(ms: number): void {
  clock.advance(ms)
  vi.setSystemTime(Date.now() + ms)
}

/** A storage on the clock of the test. */
const storageOf = (api: Api): Storage =>
  api === ours ? new ours.ThrottlerStorageService(memoryStore({ clock })) : new api.ThrottlerStorageService()

interface Setup {
  readonly platform?: string
  readonly guard?: Type<CanActivate>
  readonly controllers: readonly Type[]
  readonly options: Exclude<ours.ThrottlerModuleOptions, unknown[]>
}

async function serve(api: Api, { platform = 'Express', guard = api.ThrottlerGuard, controllers, options }: Setup) {
  const module = api.ThrottlerModule.forRoot({ storage: storageOf(api), ...options })
  return sendTo(await serverOf(await appOf(platform, [module], controllers, [{ provide: APP_GUARD, useClass: guard }])))
}

async function statusesOf(send: Send, times: number, request?: NeutralRequest): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < times; i++) statuses.push((await send(request)).status)
  return statuses
}

/** The rate limit headers of a response, by their names without the prefix. */
const reported = ({ headers }: Awaited<ReturnType<Send>>) =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => /ratelimit|retry/.test(name))
      .map(([name, value]) => [name.replace('x-ratelimit-', ''), Number(value)]),
  )

@Controller()
class Plain {
  @Get()
  get() {
    return 'ok'
  }

  @Get('other')
  other() {
    return 'ok'
  }
}

describe.each(Object.entries(libraries))('%s', (_, api) => {
  const { minutes, seconds, SkipThrottle, Throttle } = api

  test.each(Object.keys(platforms))('counts each route and client, and sets headers, on %s', async (platform) => {
    const options = { throttlers: [{ limit: 2, ttl: minutes(1) }] }
    const send = await serve(api, { platform, controllers: [Plain], options })
    expect(reported(await send())).toEqual({ limit: 2, remaining: 1, reset: 60 })
    advance(15_000)
    expect(reported(await send())).toEqual({ limit: 2, remaining: 0, reset: 45 })
    const denied = await send()
    expect([denied.status, JSON.parse(denied.body), reported(denied)]).toEqual([
      429,
      { statusCode: 429, message: 'ThrottlerException: Too Many Requests' },
      { 'retry-after': 60 },
    ])
    expect((await send({ path: '/other' })).status).toBe(200)
    advance(59_999)
    expect(await statusesOf(send, 1)).toEqual([429])
    advance(1)
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
  })

  test('blocks for blockDuration, and then starts anew', async () => {
    const options = { throttlers: [{ limit: 2, ttl: seconds(60), blockDuration: seconds(10) }] }
    const send = await serve(api, { controllers: [Plain], options })
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
    advance(4_000)
    expect(reported(await send())).toEqual({ 'retry-after': 6 })
    advance(6_000)
    expect(await statusesOf(send, 3)).toEqual([200, 200, 429])
  })

  test('does not block with blockDuration 0: the oldest request expires first', async () => {
    const options = { throttlers: [{ limit: 2, ttl: seconds(60), blockDuration: 0 }] }
    const send = await serve(api, { controllers: [Plain], options })
    await send()
    advance(20_000)
    await send()
    expect(reported(await send())).toEqual({ 'retry-after': 40 })
    advance(40_000)
    expect(await statusesOf(send, 2)).toEqual([200, 429])
  })

  test('denies every request with a limit of 0', async () => {
    const send = await serve(api, { controllers: [Plain], options: { throttlers: [{ limit: 0, ttl: 1_000 }] } })
    expect(await statusesOf(send, 2)).toEqual([429, 429])
  })

  test('applies several throttlers, with the names as suffixes of headers', async () => {
    const throttlers = [
      { name: 'long', ttl: seconds(60), limit: 3 },
      { name: 'short', ttl: seconds(1), limit: 1 },
    ]
    const send = await serve(api, { controllers: [Plain], options: { throttlers } })
    expect(reported(await send())).toEqual({
      'limit-short': 1,
      'remaining-short': 0,
      'reset-short': 1,
      'limit-long': 3,
      'remaining-long': 2,
      'reset-long': 60,
    })
    expect(reported(await send())).toEqual({ 'retry-after-short': 1 })
    advance(1_000)
    expect(await statusesOf(send, 1)).toEqual([200])
  })

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

  test('skips by skipIf, and by user agent', async () => {
    const skipIf = (context: ExecutionContext) => context.getHandler().name === 'other'
    const throttlers = [{ limit: 1, ttl: 60_000, ignoreUserAgents: [/googlebot/i] }]
    const send = await serve(api, { controllers: [Plain], options: { throttlers, skipIf } })
    expect(await statusesOf(send, 3, { path: '/other' })).toEqual([200, 200, 200])
    expect(await statusesOf(send, 3, { headers: { 'user-agent': 'Googlebot/2.1' } })).toEqual([200, 200, 200])
    expect(await statusesOf(send, 2, { headers: { 'user-agent': 'curl' } })).toEqual([200, 429])
  })

  test('takes trackers, keys, messages and headers from options', async () => {
    const options = {
      throttlers: [{ limit: 1, ttl: 60_000 }],
      getTracker: (req: Record<string, { 'x-user'?: string }>) => req['headers']?.['x-user'] ?? 'guest',
      generateKey: (_context: ExecutionContext, tracker: string, name: string) => `${name}-${tracker}`,
      errorMessage: (_: ExecutionContext, detail: ours.ThrottlerLimitDetail) => `${detail.tracker} ${detail.key}`,
      setHeaders: false,
    }
    const send = await serve(api, { controllers: [Plain], options })
    const ann = { headers: { 'x-user': 'ann' } }
    expect(reported(await send(ann))).toEqual({})
    // One key for all routes.
    const denied = await send({ ...ann, path: '/other' })
    expect([denied.status, JSON.parse(denied.body).message, reported(denied)]).toEqual([429, 'ann default-ann', {}])
    expect((await send({ headers: { 'x-user': 'bob' } })).status).toBe(200)
  })

  test('calls the protected methods that a subclass overrides', async () => {
    @Injectable()
    class Own extends api.ThrottlerGuard {
      protected override headerPrefix = 'X-Own'
      protected override async shouldSkip(context: ExecutionContext) {
        return context.getHandler().name === 'other'
      }
      protected override async getTracker(req: Record<string, { 'x-user'?: string }>) {
        return `${req['headers']?.['x-user']}`
      }
      protected override generateKey(_context: ExecutionContext, suffix: string, name: string) {
        return `${name} ${suffix}`
      }
      protected override async throwThrottlingException(context: ExecutionContext, detail: ours.ThrottlerLimitDetail) {
        throw new ours.ThrottlerException(
          `${await this.getErrorMessage(context, detail)}: ${detail.key}, ${detail.totalHits} of ${detail.limit}`,
        )
      }
      protected override async getErrorMessage(_: ExecutionContext, __: ours.ThrottlerLimitDetail) {
        return 'Slow down'
      }
    }
    const send = await serve(api, {
      guard: Own,
      controllers: [Plain],
      options: { throttlers: [{ limit: 1, ttl: 60_000 }] },
    })
    const ann = { headers: { 'x-user': 'ann' } }
    expect((await send(ann)).headers['x-own-limit']).toBe('1')
    expect(JSON.parse((await send(ann)).body).message).toBe('Slow down: default ann, 2 of 1')
    expect(await statusesOf(send, 2, { path: '/other', headers: ann.headers })).toEqual([200, 200])
  })

  test('uses a storage of the app, with the arguments and the record of the interface', async () => {
    const calls: unknown[][] = []
    const storage: ours.ThrottlerStorage = {
      increment: async (...args) => {
        calls.push(args.slice(1))
        return { totalHits: 7, timeToExpire: 8, isBlocked: calls.length > 1, timeToBlockExpire: 9 }
      },
    }
    const options = { storage, throttlers: [{ name: 'api', limit: 10, ttl: 1_000 }] }
    const send = await serve(api, { controllers: [Plain], options })
    expect(reported(await send())).toEqual({ 'limit-api': 10, 'remaining-api': 3, 'reset-api': 8 })
    expect(reported(await send())).toEqual({ 'retry-after-api': 9 })
    expect(calls[0]).toEqual([1_000, 10, 1_000, 'api'])
  })

  test('takes its options from factories and classes', async () => {
    const throttlers = [{ limit: 1, ttl: 60_000 }]
    @Injectable()
    class Factory {
      createThrottlerOptions() {
        return throttlers
      }
    }
    @Module({ providers: [Factory], exports: [Factory] })
    class FactoryModule {}
    for (const module of [
      api.ThrottlerModule.forRoot(throttlers),
      api.ThrottlerModule.forRootAsync({ useFactory: async () => throttlers }),
      api.ThrottlerModule.forRootAsync({ useClass: Factory }),
      api.ThrottlerModule.forRootAsync({ imports: [FactoryModule], useExisting: Factory }),
    ]) {
      const provider = { provide: APP_GUARD, useClass: api.ThrottlerGuard }
      const send = await sendTo(await serverOf(await appOf('Express', [module], [Plain], [provider])))
      expect(await statusesOf(send, 2)).toEqual([200, 429])
    }
  })
})

// The differences that docs/migration/nestjs-throttler.md lists.

const bothOf = async (run: (api: Api) => Promise<unknown>): Promise<Record<string, unknown>> =>
  Object.fromEntries(await Promise.all(Object.entries(libraries).map(async ([name, api]) => [name, await run(api)])))

/** What both libraries do. */
const each = (here: unknown, there: unknown) =>
  Object.fromEntries(Object.keys(libraries).map((name) => [name, libraries[name] === ours ? here : there]))

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

test('a user agent pattern with a flag g matches every request, and options stay in order', async () => {
  const throttlers = [
    { name: 'b', limit: 1, ttl: 60_000, ignoreUserAgents: [/bot/g] },
    { name: 'a', limit: 9, ttl: 1_000 },
  ]
  const outcomes = await bothOf(async (api) => {
    const own = throttlers.map((each) => ({ ...each, ...(each.ignoreUserAgents && { ignoreUserAgents: [/bot/g] }) }))
    const send = await serve(api, { controllers: [Plain], options: { throttlers: own } })
    const statuses = await statusesOf(send, 4, { headers: { 'user-agent': 'bot' } })
    return [statuses, own.map(({ name }) => name)]
  })
  expect(outcomes).toEqual(
    each(
      [
        [200, 200, 200, 200],
        ['b', 'a'],
      ],
      [
        [200, 200, 200, 429],
        ['a', 'b'],
      ],
    ),
  )
})

test('a ttl of 30 days is counted for 30 days, without a timer', async () => {
  const storage = storageOf(ours)
  const start = vi.spyOn(globalThis, 'setTimeout')
  const interval = vi.spyOn(globalThis, 'setInterval')
  const hit = () => storage.increment('ann', ours.days(30), 2, 0, 'default')
  await hit()
  advance(ours.days(29))
  expect(await hit()).toMatchObject({ totalHits: 2, timeToExpire: 86_400, isBlocked: false })
  expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 86_400 })
  advance(ours.days(1))
  expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false })
  expect([start.mock.calls.length, interval.mock.calls.length]).toEqual([0, 0])
})

test('a store of ours is a storage, and requests at the same time never exceed the limit', async () => {
  const options = { storage: memoryStore({ clock }), throttlers: [{ limit: 10, ttl: 60_000 }] }
  const send = await serve(ours, { controllers: [Plain], options })
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await send()).status))
  expect(statuses.filter((status) => status === 200)).toHaveLength(10)
})

test('a limit above a thousand is approximated by two counts, and never exceeded', async () => {
  const storage = storageOf(ours)
  let allowed = 0
  for (let i = 0; i < 2_500; i++) {
    const { isBlocked } = await storage.increment('ann', 60_000, 2_000, 0, 'default')
    if (!isBlocked) allowed++
  }
  expect(allowed).toBe(2_000)
})

test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])('a limit of %d turns a throttler off', async (limit) => {
  const send = await serve(ours, { controllers: [Plain], options: { throttlers: [{ limit, ttl: 60_000 }] } })
  expect([(await send()).status, (await send()).status]).toEqual([200, 200])
})

// Each request was a 500: no quota has such times.
test('a ttl or blockDuration of Infinity is 95 years', async () => {
  const outcomes = await bothOf(async (api) => {
    const results: unknown[] = []
    for (const times of [{ ttl: Infinity }, { ttl: 60_000, blockDuration: Infinity }]) {
      const options = { throttlers: [{ limit: 1, ...times }] }
      const send = await serve(api, { controllers: [Plain], options })
      const statuses = await statusesOf(send, 1)
      const { status, headers } = await send()
      advance(api.days(3_650))
      results.push([...statuses, status, headers['retry-after'], (await send()).status])
    }
    return results
  })
  const lasting = (wait: string) => [1, 2].map(() => [200, 429, wait, 429])
  expect(outcomes).toEqual(each(lasting('3000000000'), lasting('Infinity')))
})

test('a ttl or blockDuration of less than a microsecond is 0', async () => {
  const storage = storageOf(ours)
  const hit = (ttl: number, block: number) => storage.increment('ann', ttl, 1, block, 'default')
  expect([await hit(1e-9, 5), await hit(1e-9, 5)].map(({ isBlocked }) => isBlocked)).toEqual([false, false])
  expect([await hit(60_000, 1e-9), await hit(60_000, 1e-9)].map(({ isBlocked }) => isBlocked)).toEqual([false, true])
  expect([await hit(60_000, -5), await hit(60_000, -5)].map(({ isBlocked }) => isBlocked)).toEqual([true, true])
})

test.each([1_001, 1e6, 1e9])('a limit of %d is counted in any ttl', async (limit) => {
  const storage = storageOf(ours)
  for (const ttl of [
    0.001,
    1,
    1_000 / 3,
    60_000.5,
    1e6 + 1 / 3,
    ours.days(30),
    ours.days(30) + 0.123,
    1e12,
    Infinity,
  ]) {
    expect(await storage.increment('ann', ttl, limit, ttl, 'default')).toMatchObject({ totalHits: 1, isBlocked: false })
  }
})

test('a fraction of a limit is no request', async () => {
  const options = { throttlers: [{ limit: 2.5, ttl: 60_000 }] }
  const outcomes = await bothOf(async (api) => statusesOf(await serve(api, { controllers: [Plain], options }), 3))
  expect(outcomes).toEqual(each([200, 200, 429], [200, 200, 429]))
})

// The original limits nothing then, without a word.
test('a negative ttl is an error: of the app, or of the request if a function returns it', async () => {
  for (const ttl of [-1, '-1' as never]) {
    const app = serve(ours, { controllers: [Plain], options: { throttlers: [{ limit: 1, ttl }] } })
    await expect(app).rejects.toThrow('expected milliseconds, 0 or more, got -1: no request would be limited.')
  }
  const outcomes = await bothOf(async (api) => {
    const options = { throttlers: [{ limit: 1, ttl: () => -1 }] }
    return statusesOf(await serve(api, { controllers: [Plain], options }), 2)
  })
  expect(outcomes).toEqual(each([500, 500], [200, 200]))
})

test.each(['limit', 'ttl', 'blockDuration'])(
  'a %s that is no number is an error before the first request',
  async (option) => {
    for (const value of ['5x', Number.NaN, {}]) {
      const throttlers = [{ limit: 1, ttl: 60_000, [option]: value }]
      const app = serve(ours, { controllers: [Plain], options: { throttlers } })
      await expect(app).rejects.toThrow(`Invalid "${option}" for the "default" throttler: expected a number`)
    }
  },
)

test('a limit that is not a number fails the request with the reason', async () => {
  const outcomes = await bothOf(async (api) => {
    const throttlers = [{ limit: (() => undefined) as never, ttl: 60_000 }]
    return (await serve(api, { controllers: [Plain], options: { throttlers } }))()
  })
  for (const outcome of Object.values(outcomes)) expect(outcome).toMatchObject({ status: 500 })
})

test('a guard that Nest does not initialise limits, too', async () => {
  const outcomes = await bothOf(async (api) => {
    @Injectable({ scope: Scope.REQUEST })
    class OfRequest extends api.ThrottlerGuard {}
    @Injectable()
    class Own extends api.ThrottlerGuard {
      override async onModuleInit() {}
    }
    const options = { throttlers: [{ limit: 1, ttl: 60_000 }] }
    const statuses = async (guard: typeof api.ThrottlerGuard) =>
      statusesOf(await serve(api, { guard, controllers: [Plain], options }), 2)
    return [await statuses(OfRequest), await statuses(Own)]
  })
  const [works, fails] = [
    [200, 429],
    [500, 500],
  ]
  expect(outcomes).toEqual(each([works, works], [fails, fails]))
})

// A store takes no empty key, and no policy has such a name: each request was a 500.
test('keys may be empty or numbers, and names of any length', async () => {
  const named = { name: 'a'.repeat(200), limit: 1, ttl: 60_000 }
  const keyedBy = (key: unknown) => ({ limit: 1, ttl: 60_000, generateKey: () => key as string })
  const all = [named, keyedBy(''), keyedBy(7), { ...keyedBy(''), blockDuration: 1_000 }]
  const outcomes = await bothOf(async (api) => {
    const statuses: unknown[] = []
    for (const throttler of all) {
      const send = await serve(api, { controllers: [Plain], options: { throttlers: [throttler] } })
      statuses.push(await statusesOf(send, 2))
    }
    return statuses
  })
  const denied = all.map(() => [200, 429])
  expect(outcomes).toEqual(each(denied, denied))
})

test('empty keys and names of any characters count apart', async () => {
  const storage = storageOf(ours)
  const totals: number[] = []
  for (const key of ['', ' ', 'a', '["ä",""]']) {
    for (const name of ['a'.repeat(100), 'a'.repeat(101), 'ä', '', '(any)']) {
      totals.push((await storage.increment(key, 60_000, 5, 60_000, name)).totalHits)
    }
  }
  expect(new Set(totals)).toEqual(new Set([1]))
  expect((await storage.increment('a', 60_000, 5, 60_000, '(any)')).totalHits).toBe(2)
  await expect(storage.increment(undefined as never, 60_000, 5, 0, 'a')).rejects.toThrow(
    'key must be a non-empty string',
  )
})

test('skipIf and generateKey may return promises', async () => {
  const statuses = async (api: Api, option: object) => {
    const options = { throttlers: [{ limit: 1, ttl: 60_000, ...option }] }
    return statusesOf(await serve(api, { controllers: [Plain], options }), 2)
  }
  expect(await bothOf((api) => statuses(api, { skipIf: async () => false }))).toEqual(each([200, 429], [200, 200]))
  expect(await bothOf((api) => statuses(api, { skipIf: async () => true }))).toEqual(each([200, 200], [200, 200]))
  expect(await bothOf((api) => statuses(api, { generateKey: async () => 'k' }))).toEqual(each([200, 429], [200, 200]))
})

test('options of older versions, and misspelt ones, are errors that say what to write', async () => {
  const options = { ttl: 60, limit: 10 } as never
  await expect(serve(ours, { controllers: [Plain], options })).rejects.toThrow(
    'ThrottlerModule takes a list of throttlers: [{ ttl: 60000, limit: 10 }], or { throttlers: [...] }.',
  )
  const { Throttle } = ours as { Throttle: (...options: readonly unknown[]) => unknown }
  for (const [written, problem] of [
    [[5, 60], '@Throttle takes an object of options; got 5.'],
    [[{ limit: 5, ttl: 60 }], '@Throttle of "limit" takes an object of options; got 5.'],
    [[{ default: { limits: 5 } }], '@Throttle of "default" has no option "limits". Did you mean "limit"?'],
    [[], '@Throttle takes an object of options; got undefined.'],
    [[{ default: { limit: 5, ttl: 'x' } }], 'Invalid "ttl" for the "default" throttler: expected a number'],
    [[{ default: { getTracker: 'ip' } }], 'getTracker must be a function; got "ip".'],
  ] as const) {
    expect(() => Throttle(...written)).toThrow(problem)
  }
})

// They were ignored: a client that exceeded the limit was blocked for no longer than ttl.
test.each<[object, string]>([
  [
    { throttlers: [{ limit: 1, ttl: 1, blockduration: 5 }] },
    'the throttler "default" has no option "blockduration". Did',
  ],
  [{ throttlers: [{ name: 'a', limit: 1, ttl: 1, skip: () => true }] }, 'the throttler "a" has no option "skip".'],
  [{ throttlers: [undefined] }, 'the throttler "default" takes an object of options; got undefined.'],
  [
    { throttlers: [], getTrackers: () => 'a' },
    'ThrottlerModule has no option "getTrackers". Did you mean "getTracker"?',
  ],
  [
    { throttlers: [], ignoreUserAgents: /bot/ },
    'ignoreUserAgents must be a list of regular expressions, such as [/bot/i]; got',
  ],
  [{ throttlers: [{ limit: 1, ttl: 1, ignoreUserAgents: ['curl'] }] }, 'ignoreUserAgents must be a list'],
  [{ throttlers: [{ limit: 1, ttl: 1, skipIf: true }] }, 'skipIf must be a function; got true.'],
  [{ throttlers: [], getTracker: 'ip' }, 'getTracker must be a function; got "ip".'],
  [{ throttlers: [], setHeaders: 'false' }, 'setHeaders must be true or false; got "false".'],
  [{ throttlers: [], ipv6SubnetPrefix: 129 }, 'ipv6Prefix'],
])('an unknown or wrong option is an error when the app starts: %o', async (options, problem) => {
  const app = serve(ours, { controllers: [Plain], options: options as Setup['options'] })
  await expect(app).rejects.toThrow(problem)
})

// A mistake skipped the throttler, or was an error of JavaScript.
test('a wrong @SkipThrottle, storage or factory is an error that says what it is', async () => {
  const { SkipThrottle } = ours as { SkipThrottle: (skip: unknown) => unknown }
  for (const [skip, problem] of [
    [null, '@SkipThrottle takes an object of options; got null.'],
    [true, '@SkipThrottle takes an object of options; got true.'],
    ['default', '@SkipThrottle takes an object of options; got "default".'],
    [{ default: 'false' }, '@SkipThrottle of "default" must be true or false; got "false".'],
  ] as const) {
    expect(() => SkipThrottle(skip)).toThrow(problem)
  }
  for (const storage of ['redis://localhost', {}, { increment: 5 }]) {
    const options = { throttlers: [], storage } as never
    await expect(serve(ours, { controllers: [Plain], options })).rejects.toThrow('storage must be a store, such as')
  }
  const nothing = ours.ThrottlerModule.forRootAsync({ useFactory: () => undefined as never })
  const app = appOf('Express', [nothing], [Plain])
  await expect(app.then(serverOf)).rejects.toThrow('ThrottlerModule takes an object of options; got undefined.')
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

test('exports every name of the original, but for what belongs to its storage', () => {
  const missing = Object.keys(theirs).filter((name) => !(name in ours))
  expect(missing).toEqual(['DEFAULT_SWEEP_INTERVAL'])
})
