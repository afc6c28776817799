import { All, Controller } from '@nestjs/common'
import { type NeutralOptions, type Scene, type Send, sendTo, testAdapter } from '@spillway/conformance'
import { afterEach, describe, test } from 'vitest'
import { boundsOf } from '../../../test/frameworks.ts'
import { RateLimitDecision, RateLimiter, RateLimitFilter, RateLimitGuard, type RequestDecision } from '../src/index.ts'
import { appOf, closeApps, everyPath, platforms, serverOf } from './apps.ts'

afterEach(closeApps)

interface RawResponse {
  readonly headersSent: boolean
  writeHead(status: number): { end(): void }
}

async function mount(
  platform: string,
  options: NeutralOptions,
  { timeout, inner, onHandled, limited }: Scene,
): Promise<Send> {
  @Controller()
  class Everything {
    @All(everyPath(platform))
    answer(@RateLimitDecision() rateLimit: RequestDecision | undefined) {
      onHandled()
      return { rateLimit }
    }
  }
  const app = await appOf(platform, [], [Everything])
  app.use((_: unknown, response: RawResponse, next: () => void) => {
    void timeout.then(() => response.headersSent || response.writeHead(503).end())
    next()
  })
  const limiters = [options, ...inner].map((each) => new RateLimitGuard(limited(new RateLimiter(each as never))))
  app.useGlobalGuards(...limiters)
  app.useGlobalFilters(new RateLimitFilter())
  return sendTo(await serverOf(app))
}

describe.each(Object.keys(platforms))('on %s', (platform) => {
  testAdapter(test, (options, scene) => mount(platform, options, scene), boundsOf())
})
