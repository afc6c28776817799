import { runInNewContext } from 'node:vm'
import { Controller, Get } from '@nestjs/common'
import { afterEach, expect, test } from 'vitest'
import { perMinute, RateLimit, RateLimitModule, type RateLimitOptions, SkipRateLimit } from '../src/index.ts'
import { appOf, closeApps } from './apps.ts'
import { policies, serve, started, toldBy } from './module-apps.ts'

afterEach(closeApps)

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

// The quota of the lower decorator was dropped, without a word.
test('several decorators of one method change a policy together, the upper one last', async () => {
  const strict = () => RateLimit({ requests: { quota: perMinute(4), cost: 1 } })
  const expensive = () => RateLimit({ requests: { cost: 2 } })
  @Controller()
  class Reports {
    @Get('a')
    @expensive()
    @strict()
    a() {}

    @Get('b')
    @strict()
    @expensive()
    b() {}
  }
  @Controller('own')
  @expensive()
  class Base {
    @Get()
    get() {}
  }
  @Controller('own')
  @RateLimit({ requests: { quota: perMinute(4) } })
  class Own extends Base {}
  const send = await serve('Express', { policies } as RateLimitOptions, [Reports, Own])
  const told: string[] = []
  for (const path of ['/a', '/b', '/own']) told.push((await toldBy(send, path)).split(',')[0] as string)
  expect(told).toEqual([
    '200 "requests:Reports.a";r=2;t=15',
    '200 "requests:Reports.b";r=3;t=15',
    '200 "requests:Own";r=3;t=15',
  ])
})

// As in Jest, where the classes of Node are of another realm: the app did not start, with an error without a message.
test('an app starts that has a provider whose base is of another realm', async () => {
  const Emitter = runInNewContext('(class { emit() {} })') as new () => object
  class Events extends Emitter {}
  const app = await appOf('Express', [RateLimitModule.forRoot({ quota: perMinute(1) })], [], [Events])
  await app.init()
})
