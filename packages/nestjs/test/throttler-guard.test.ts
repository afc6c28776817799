import { type ExecutionContext, Injectable, Scope } from '@nestjs/common'
import { describe, expect, test } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { bothOf, each, libraries, Plain, serve, statusesOf } from './throttler-apps.ts'

describe.each(Object.entries(libraries))('%s', (_, api) => {
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
