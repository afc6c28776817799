import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore, perMinute, RateLimitModule } from '../src/index.ts'
import { ThrottlerGuard, ThrottlerModule } from '../src/throttler/index.ts'
import { appOf, closeApps, platforms, serverOf } from './apps.ts'

// Reproduces a bug: each request was charged twice, and of two ThrottlerModules one had no effect, in silence.

afterEach(closeApps)

@Controller()
class Plain {
  @Get()
  get() {
    return 'ok'
  }
}

const options = { quota: perMinute(10) }
const throttlers = [{ limit: 10, ttl: 60_000 }]
const rateLimits = {
  forRoot: () => RateLimitModule.forRoot(options),
  'forRoot of one store': () => RateLimitModule.forRoot({ ...options, store }),
  forRootAsync: () => RateLimitModule.forRootAsync({ useFactory: () => options }),
}
const store = memoryStore()
const throttles = {
  forRoot: () => ThrottlerModule.forRoot(throttlers),
  forRootAsync: () => ThrottlerModule.forRootAsync({ useFactory: () => throttlers }),
}

const started = async (platform: string, imports: readonly object[]): Promise<string> => {
  const providers = [{ provide: APP_GUARD, useClass: ThrottlerGuard }]
  const throttled = imports.some((each) => (each as { module?: unknown }).module === ThrottlerModule)
  const app = await appOf(platform, imports, [Plain], throttled ? providers : [])
  return serverOf(app).then(
    () => 'started',
    (error: Error) => error.message,
  )
}

/** A module of a feature that imports another one. */
const importing = (imported: object): object => {
  class Feature {}
  Module({ imports: [imported as never] })(Feature)
  return Feature
}

describe.each(Object.keys(platforms))('on %s', (platform) => {
  test.each([
    ['RateLimitModule', rateLimits],
    ['ThrottlerModule', throttles],
  ] as const)('an app with two of %s does not start', async (name, ways) => {
    const error = `${name} is imported with options more than once.`
    for (const one of Object.values(ways)) {
      for (const other of Object.values(ways)) {
        expect(await started(platform, [one(), other()])).toContain(error)
        expect(await started(platform, [one(), importing(other())])).toContain(error)
      }
    }
  })

  test('one that several modules import is one', async () => {
    for (const one of [rateLimits.forRoot(), throttles.forRoot()]) {
      expect(await started(platform, [one, importing(one), importing(importing(one))])).toBe('started')
    }
    expect(await started(platform, [rateLimits.forRoot(), importing(RateLimitModule)])).toBe('started')
    expect(await started(platform, [throttles.forRoot(), importing(ThrottlerModule)])).toBe('started')
    expect(await started(platform, [rateLimits.forRoot(), throttles.forRoot()])).toBe('started')
  })
})
