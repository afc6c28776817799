import { Controller, Get } from '@nestjs/common'
import { fakeClock, sendTo } from '@spillway/conformance'
import { afterEach, expect, test } from 'vitest'
import {
  memoryStore,
  perMinute,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitOptions,
  SkipRateLimit,
} from '../src/index.ts'
import { appOf, closeApps, serverOf } from './apps.ts'
import { serve, toldBy } from './module-apps.ts'

afterEach(closeApps)

const spilling = {
  policies: [
    { name: 'second', quota: perMinute(1), spill: 'reserve' },
    { name: 'reserve', quota: perMinute(10), spill: 'last' },
    { name: 'last', quota: perMinute(20) },
  ],
} as RateLimitOptions

/** What the headers report of each of several requests to a method with these decorators. */
async function reports(count: number, onClass: ClassDecorator, ...onMethod: MethodDecorator[]): Promise<string[]> {
  class Shop {
    login() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Shop.prototype, 'login') as PropertyDescriptor
  for (const each of [Get(), ...onMethod]) each(Shop.prototype, 'login', descriptor)
  onClass(Shop)
  Controller()(Shop)
  const send = await serve('Express', spilling, [Shop])
  const reported: string[] = []
  for (let i = 0; i < count; i++) reported.push(await toldBy(send, '/'))
  return reported
}

const none = (): void => {}

test('a policy spills over to one that counts apart by its new name', async () => {
  expect(await reports(3, none, RateLimit({ reserve: { quota: perMinute(1) } }))).toEqual([
    '200 "second";r=0;t=60',
    '200 "reserve:Shop.login";r=0;t=60',
    '200 "last";r=19;t=3',
  ])
  expect(await reports(2, RateLimit({ reserve: { quota: perMinute(1), name: 'own' } }))).toEqual([
    '200 "second";r=0;t=60',
    '200 "own";r=0;t=60',
  ])
  const both = RateLimit({ second: { quota: perMinute(1) }, reserve: { quota: perMinute(1) } })
  expect(await reports(2, none, both)).toEqual([
    '200 "second:Shop.login";r=0;t=60',
    '200 "reserve:Shop.login";r=0;t=60',
  ])
  expect(await reports(2, none, RateLimit({ reserve: { cost: 2 } }))).toEqual([
    '200 "second";r=0;t=60',
    '200 "reserve";r=8;t=6',
  ])
})

test('a policy that spills over to a skipped one denies if it is empty', async () => {
  const denied = ['200 "second";r=0;t=60', '429 "second";r=0;t=60']
  expect(await reports(2, none, SkipRateLimit('reserve'))).toEqual(denied)
  expect(await reports(2, SkipRateLimit('reserve'))).toEqual(denied)
  expect(await reports(2, SkipRateLimit(), RateLimit({ second: { cost: 1 } }))).toEqual(denied)
  expect(await reports(2, SkipRateLimit(), RateLimit({ second: { quota: perMinute(1) } }))).toEqual([
    '200 "second:Shop.login";r=0;t=60',
    '429 "second:Shop.login";r=0;t=60',
  ])
})

test('a policy to which a skipped one spills over counts nothing', async () => {
  expect(await reports(2, none, SkipRateLimit('second'))).toEqual(['200 undefined', '200 undefined'])
  expect(await reports(1, RateLimit({ reserve: { cost: 2 } }), SkipRateLimit('second'))).toEqual(['200 undefined'])
})

test('other policies count if a policy and what it spills over to do not', async () => {
  @Controller()
  class Shop {
    @Get()
    @SkipRateLimit('second')
    list() {}

    @Get('login')
    login() {}
  }
  const { policies } = spilling as unknown as { policies: object[] }
  const options = { policies: [...policies, { name: 'all', quota: perMinute(60) }] } as unknown as RateLimitOptions
  const send = await serve('Express', options, [Shop])
  expect(await toldBy(send, '/')).toBe('200 "all";r=59;t=1')
  expect(await toldBy(send, '/login')).toBe('200 "second";r=0;t=60, "all";r=58;t=1')
})

test('a policy that a method changes although nothing spills over to it is an error', async () => {
  const problem =
    '@RateLimit: Shop.login changes the policy "reserve", which counts only what "second" spills over, and "second" does not count there.'
  const changes = RateLimit({ reserve: { quota: perMinute(1) } })
  await expect(reports(1, SkipRateLimit(), changes)).rejects.toThrow(problem)
  await expect(reports(1, none, SkipRateLimit('second'), changes)).rejects.toThrow(problem)
})

// Its class skips the policy that spills over to the one that the overridden method changes.
test('the decorators of a method that a class overrides are not checked for this class', async () => {
  class Base {
    @Get()
    @RateLimit({ reserve: { cost: 2 } })
    login() {}
  }
  @Controller()
  @SkipRateLimit('second')
  class Own extends Base {
    @Get()
    override login() {}
  }
  @Controller()
  @SkipRateLimit('second')
  class Inherited extends Base {}
  const send = await serve('Express', spilling, [Own])
  expect(await toldBy(send, '/')).toBe('200 undefined')
  await expect(serve('Express', spilling, [Inherited])).rejects.toThrow('Inherited.login changes the policy "reserve"')
})

test('a spill policy that counts apart is read by its name', async () => {
  @Controller()
  class Shop {
    @Get()
    @RateLimit({ reserve: { quota: perMinute(5), key: () => 'ann' } })
    login() {}
  }
  const module = RateLimitModule.forRoot({ ...spilling, store: memoryStore({ clock: fakeClock() }) })
  const app = await appOf('Express', [module], [Shop])
  const send = await sendTo(await serverOf(app))
  await send({ path: '/' })
  await send({ path: '/' })
  const decision = await app.get(RateLimiter).peek('ann', { policy: 'reserve:Shop.login' })
  expect(decision.remaining).toBe(4)
})
