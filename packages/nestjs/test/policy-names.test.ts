import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Controller, Get } from '@nestjs/common'
import { afterEach, expect, test } from 'vitest'
import { perMinute, RateLimit, RateLimiter, RateLimitModule } from '../src/index.ts'
import { appOf, closeApps, serverOf } from './apps.ts'
import { serve, started, toldBy } from './module-apps.ts'

afterEach(closeApps)

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

// As the instrumentation of OpenTelemetry wraps the methods of controllers in the scope of a request. Each function was kept.
test('keeps nothing of a method that is wrapped anew for each request', () => {
  class Traced {
    get() {}
  }
  const limiter = new RateLimiter({ quota: perMinute(1) })
  const wrapped = (): (() => unknown) => {
    const span = new Array(100).fill(0)
    return () => span
  }
  const call = (): unknown => limiter.guardFor({ getClass: () => Traced as never, getHandler: wrapped })
  const heapBytes = (): number => {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    return process.memoryUsage().heapUsed
  }
  call()
  const before = heapBytes()
  for (let n = 0; n < 10_000; n++) call()
  expect(heapBytes() - before).toBeLessThan(10_000 * 200)
  expect(call()).toBeTypeOf('function')
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
