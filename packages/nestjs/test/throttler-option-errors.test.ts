import { expect, test } from 'vitest'
import * as ours from '../src/throttler/index.ts'
import { appOf, serverOf } from './apps.ts'
import { bothOf, each, Plain, type Setup, serve, statusesOf } from './throttler-apps.ts'

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
