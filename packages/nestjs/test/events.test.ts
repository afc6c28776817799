import { type CallHandler, Controller, type ExecutionContext, type Type, UseInterceptors } from '@nestjs/common'
import { ExternalContextCreator } from '@nestjs/core'
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js'
import { fakeClock } from '@spillway/conformance'
import type { RequestDecision } from '@spillway/core/http'
import { afterEach, expect, test } from 'vitest'
import {
  decisionOf,
  memoryStore,
  perMinute,
  RateLimit,
  RateLimitDecision,
  RateLimiter,
  RateLimitModule,
  SkipRateLimit,
} from '../src/index.ts'
import { appOf, closeApps } from './apps.ts'

afterEach(closeApps)

type Known = RequestDecision | undefined
type Handle = (...args: unknown[]) => Promise<unknown>

const costOf = (decision: Known): number | 'none' => decision?.cost ?? 'none'

const NO_PARAMETERS = { exchangeKeyForValue: () => undefined }
const ENHANCERS = { guards: true, filters: false, interceptors: true }

/** The methods of controllers as Nest calls them for the messages of a microservice, with their guards. */
async function serve(...handlers: readonly (readonly [Type, string])[]) {
  const store = memoryStore({ clock: fakeClock() })
  const module = RateLimitModule.forRoot({ quota: perMinute(100), key: () => 'ann', store })
  const app = await appOf('Express', [module], [...new Set(handlers.map(([type]) => type))])
  await app.init()
  const create = app.get(ExternalContextCreator, { strict: false })
  const handles = handlers.map(([type, method]) => {
    const controller = app.get(type) as Record<string, never>
    const [parameters, enhancers] = [NO_PARAMETERS as never, ENHANCERS as never]
    const callback = controller[method] as never
    return create.create(
      controller,
      callback,
      method,
      '__routeArguments__',
      parameters,
      undefined,
      undefined,
      enhancers,
      'rpc',
    )
  })
  /** Calls all handlers of an event with the same data and the same context. */
  const emit = (data: unknown, context?: object): Promise<unknown[]> =>
    Promise.all(handles.map((handle) => (handle as Handle)(data, context)))
  return { emit, remaining: async () => (await app.get(RateLimiter).peek('ann')).remaining }
}

@Controller()
class Mail {
  @RateLimit({ default: { cost: 10 } })
  async placed(@RateLimitDecision() decision: Known) {
    await decision?.settle(1)
    return costOf(decision)
  }
}

@Controller()
class Stats {
  @RateLimit({ default: { cost: 20 } })
  async placed(@RateLimitDecision() decision: Known) {
    await decision?.settle(2)
    return costOf(decision)
  }

  @SkipRateLimit()
  skipped(@RateLimitDecision() decision: Known) {
    return costOf(decision)
  }
}

// Nest passes one context object to all handlers of an event.
test.each([
  ['its context', 'order', {}],
  ['its data', { order: 1 }, undefined],
])('each handler of an event, known by %s, has its own decision', async (_, data, context) => {
  const { emit, remaining } = await serve([Mail, 'placed'], [Stats, 'placed'], [Stats, 'skipped'])
  expect(await emit(data, context)).toEqual([10, 20, 'none'])
  expect(await remaining()).toBe(97)
})

test('a class that inherits the handler of an event has its own decision', async () => {
  @Controller()
  class Base {
    placed(@RateLimitDecision() decision: Known) {
      return costOf(decision)
    }
  }
  @Controller()
  @RateLimit({ default: { cost: 5 } })
  class Extended extends Base {}
  const { emit } = await serve([Base, 'placed'], [Extended, 'placed'])
  expect(await emit('order', {})).toEqual([1, 5])
})

test('an interceptor of a handler reads the decision of this handler', async () => {
  const seen: unknown[] = []
  const intercept = (context: ExecutionContext, next: CallHandler) => {
    seen.push(costOf(decisionOf(context)))
    return next.handle()
  }
  @Controller()
  @UseInterceptors({ intercept })
  class Log {
    @RateLimit({ default: { cost: 3 } })
    placed() {}

    @SkipRateLimit()
    skipped() {}
  }
  const { emit } = await serve([Log, 'placed'], [Log, 'skipped'])
  await emit('order', {})
  expect(seen.sort()).toEqual([3, 'none'])
})

// As Nest makes it for filters: nothing says which handler has thrown.
test('a context without a handler has no decision', async () => {
  const { emit } = await serve([Mail, 'placed'])
  const message = {}
  await emit('order', message)
  const context = new ExecutionContextHost(['order', message])
  context.setType('rpc')
  expect(decisionOf(context)).toBeUndefined()
})
