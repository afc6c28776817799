import { type ExecutionContext, Injectable, Module } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import * as theirs from '@nestjs/throttler'
import { sendTo } from '@spillway/conformance'
import { describe, expect, test } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { appOf, serverOf } from './apps.ts'
import { type Api, bothOf, each, libraries, Plain, reported, serve, statusesOf } from './throttler-apps.ts'

describe.each(Object.entries(libraries))('%s', (_, api) => {
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

test('skipIf and generateKey may return promises', async () => {
  const statuses = async (api: Api, option: object) => {
    const options = { throttlers: [{ limit: 1, ttl: 60_000, ...option }] }
    return statusesOf(await serve(api, { controllers: [Plain], options }), 2)
  }
  expect(await bothOf((api) => statuses(api, { skipIf: async () => false }))).toEqual(each([200, 429], [200, 200]))
  expect(await bothOf((api) => statuses(api, { skipIf: async () => true }))).toEqual(each([200, 200], [200, 200]))
  expect(await bothOf((api) => statuses(api, { generateKey: async () => 'k' }))).toEqual(each([200, 429], [200, 200]))
})

test('exports every name of the original, but for what belongs to its storage', () => {
  const missing = Object.keys(theirs).filter((name) => !(name in ours))
  expect(missing).toEqual(['DEFAULT_SWEEP_INTERVAL'])
})
