import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Request, type Response } from 'express'
import * as theirs from 'express-rate-limit'
import type { RedisStore } from 'rate-limit-redis'
import request from 'supertest'
import { afterEach, describe, expect, expectTypeOf, test, vi } from 'vitest'
import * as ours from '../../src/compat/index.ts'

// What a user of express-rate-limit meets who changes nothing but the import.

const quiet = { validate: false } as const
const both = [
  ['theirs', theirs],
  ['ours', ours as unknown as typeof theirs],
] as const

const silent = { error: () => {}, warn: () => {} }
const down: theirs.Store = {
  increment: () => Promise.reject(new Error('down')),
  decrement: () => {},
  resetKey: () => {},
}

function deferred<T>() {
  let resolve = (_value: T): void => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

afterEach(() => void vi.useRealTimers())

test('has every name that express-rate-limit exports, and its default export', () => {
  expect(Object.keys(ours)).toEqual(expect.arrayContaining(Object.keys(theirs)))
  expect(ours.default).toBe(ours.rateLimit)
  const { SECOND, MINUTE, HOUR, DAY } = theirs
  expect([ours.SECOND, ours.MINUTE, ours.HOUR, ours.DAY]).toEqual([SECOND, MINUTE, HOUR, DAY])
})

test('has its types', () => {
  expectTypeOf<ours.ClientRateLimitInfo>().toExtend<theirs.ClientRateLimitInfo>()
  expectTypeOf<theirs.ClientRateLimitInfo>().toExtend<ours.IncrementResponse>()
  expectTypeOf<theirs.Store>().toExtend<ours.Store>()
  expectTypeOf<theirs.LegacyStore>().toExtend<ours.LegacyStore>()
  expectTypeOf<ours.IncrementCallback>().toEqualTypeOf<theirs.IncrementCallback>()
  expectTypeOf<ours.ValueDeterminingMiddleware<string>>().toEqualTypeOf<theirs.ValueDeterminingMiddleware<string>>()
  expectTypeOf<theirs.RateLimitExceededEventHandler>().returns.toExtend<
    ReturnType<ours.RateLimitExceededEventHandler>
  >()
  expectTypeOf((request: ours.AugmentedRequest): theirs.RateLimitInfo | undefined => request['counts']).toBeFunction()
  expectTypeOf<theirs.Logger>().toExtend<ours.Logger>()
  expectTypeOf<theirs.LoggerFn>().toExtend<ours.LoggerFn>()
  expectTypeOf<ours.EnabledValidations>().toEqualTypeOf<theirs.EnabledValidations>()
  expectTypeOf<RedisStore>().toExtend<ours.Store>()
})

// Reproduces a bug: ours were read-only, `message` was unknown, and `store` had no resetKey.
test('its types are used as in code for express-rate-limit', () => {
  const options: Partial<ours.Options> = { message: 'Slow down.' }
  options.limit = 1
  options.store = new ours.MemoryStore()
  const counts: ours.ClientRateLimitInfo = { totalHits: 0, resetTime: undefined }
  counts.totalHits++
  class HttpError extends Error {
    constructor(message: string, _status: number) {
      super(message)
    }
  }
  const handler: ours.RateLimitExceededEventHandler = (req, _res, next, { message, statusCode, store }) => {
    const info = (req as ours.AugmentedRequest)['counts']
    if (info) info.remaining = 0
    void store.resetKey('alice')
    next(new HttpError(message, statusCode))
  }
  const theirHandler: ours.RateLimitExceededEventHandler = handler as theirs.RateLimitExceededEventHandler
  expect(() => ours.rateLimit({ ...options, handler: theirHandler, ...quiet })).not.toThrow()
  expect(counts).toEqual({ totalHits: 1, resetTime: undefined })
})

/** A response that only keeps its fields. */
function fields(): { readonly response: Response; readonly set: Map<string, unknown> } {
  const set = new Map<string, unknown>()
  const put = (name: string, value: unknown): void => void set.set(name, value)
  return { response: { hasHeader: (name: string) => set.has(name), setHeader: put, append: put } as never, set }
}

test('a request is passed on in the same tick, unless an option returns a promise', async () => {
  const passed: string[] = []
  const limits = { now: ours.rateLimit(quiet), later: ours.rateLimit({ skip: async () => false, ...quiet }) }
  const decided = Object.entries(limits).map(([name, limit]) =>
    limit({ ip: '192.0.2.1' } as Request, fields().response, () => void passed.push(name)),
  )
  expect(passed).toEqual(['now'])
  await Promise.all(decided)
  expect(passed).toEqual(['now', 'later'])
})

test('a client has the same partition in draft 8, however many clients came between', async () => {
  const short = Array.from({ length: 300 }, (_, i) => `client ${i}`)
  const keys = [...short, 'k'.repeat(1_000), ...short, 'k'.repeat(1_000)]
  const partitionsBy = async (rateLimit: typeof theirs.rateLimit): Promise<readonly unknown[]> => {
    const keyGenerator = ({ url }: Request): string => url
    const limit = rateLimit({ limit: 5, standardHeaders: 'draft-8', legacyHeaders: false, keyGenerator, ...quiet })
    const answer = async (url: string): Promise<unknown> => {
      const { response, set } = fields()
      await limit({ url } as Request, response, () => {})
      return set.get('RateLimit-Policy')
    }
    const policies: unknown[] = []
    for (const key of keys) policies.push(await answer(key))
    return policies
  }
  const policies = await partitionsBy(ours.rateLimit as unknown as typeof theirs.rateLimit)
  expect(new Set(policies).size).toBe(301)
  expect(policies).toEqual(await partitionsBy(theirs.rateLimit))
})

describe.each(both)('%s', (name, { rateLimit, MemoryStore, ipKeyGenerator }) => {
  test('the middleware returns a promise that resolves after the decision', async () => {
    const middleware = rateLimit({ limit: 1, ...quiet, handler: (_req, res) => void res.end('denied') })
    const decided: string[] = []
    const res = { setHeader: () => {}, end: (text: string) => decided.push(text) } as unknown as Response
    const decide = async (): Promise<unknown> =>
      middleware({ ip: '192.0.2.1' } as Request, res, () => void decided.push('next'))
    expect([await decide(), [...decided]]).toEqual([undefined, ['next']])
    expect([await decide(), decided]).toEqual([undefined, ['next', 'denied']])
  })

  test('a client that leaves while the store counts is subtracted', async () => {
    const counted = deferred<theirs.IncrementResponse>()
    const [asked, subtracted] = [deferred<void>(), deferred<string>()]
    const store: theirs.Store = {
      increment: () => {
        asked.resolve()
        return counted.promise
      },
      decrement: (key) => subtracted.resolve(key),
      resetKey: () => {},
    }
    const app = express().use(rateLimit({ store, skipFailedRequests: true, keyGenerator: () => 'alice', ...quiet }))
    const server = createServer(app).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const closed = new Promise((resolve) => server.once('request', (_, res) => res.once('close', resolve)))
    const sent = send({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).on('error', () => {})
    sent.end()
    await asked.promise
    sent.destroy()
    await closed
    counted.resolve({ totalHits: 1, resetTime: undefined })
    expect(await subtracted.promise).toBe('alice')
    server.close()
  })

  test('requests without a key are counted as one client', async () => {
    const app = express().use(
      rateLimit({ limit: 1, keyGenerator: () => undefined as never, ...quiet }),
      (_req, res) => {
        res.end()
      },
    )
    expect([(await request(app).get('/')).status, (await request(app).get('/')).status]).toEqual([200, 429])
  })

  // Reproduces a bug: ours failed every request. Code in use passes a whole request, or a header that may be missing.
  test.each([[undefined], [{ ip: '192.0.2.1' }], ['user 7'], ['']])(
    'ipKeyGenerator returns what is no address: %s',
    (value) => {
      expect(ipKeyGenerator(value as never)).toBe(value)
    },
  )

  // Reproduces a bug: ours threw.
  test('ipKeyGenerator takes a subnet of 0 as none', () => {
    expect(ipKeyGenerator('2001:db8::1', 0)).toBe('2001:db8::1')
  })

  // Reproduces a bug: ours failed the first request of a server that is not Express.
  test('a check that fails is logged, and the request is passed on', async () => {
    const [logged, passed]: [unknown[], unknown[]] = [[], []]
    const logger = { error: (error: unknown) => void logged.push(error), warn: () => {} }
    const res = { setHeader: () => {} } as unknown as Response
    const app = {} // Without settings.
    await rateLimit({ logger })(
      { ip: '192.0.2.1', headers: {}, app } as unknown as Request,
      res,
      (error) => void passed.push(error),
    )
    expect(passed).toEqual([undefined])
    expect(logged).toContainEqual(expect.any(TypeError))
  })

  // Reproduces a bug: ours called next again with the error, which ran the handler a second time.
  test('what next returns is left to its caller', async () => {
    const failed = Promise.reject(new Error('handler'))
    failed.catch(() => {})
    const passed: unknown[] = []
    const next = (error?: unknown): unknown => {
      passed.push(error)
      return failed
    }
    const res = { setHeader: () => {} } as unknown as Response
    const options = [{}, { skip: () => true }, { store: down, passOnStoreError: true, logger: silent }]
    for (const each of options)
      await rateLimit({ ...each, ...quiet })({ ip: '192.0.2.1' } as Request, res, next as never)
    expect(passed).toEqual([undefined, undefined, undefined])
  })

  test('a store that no limiter uses yet has no counts', async () => {
    expect(await new MemoryStore().get('alice')).toBeUndefined()
  })

  test('resetAll deletes all counts, as shutdown does', async () => {
    const store = new MemoryStore()
    store.init({ windowMs: 60_000 } as theirs.Options)
    for (const reset of [() => store.resetAll(), () => store.shutdown()]) {
      await store.increment('alice')
      expect(await store.get('alice')).toMatchObject({ totalHits: 1 })
      await reset()
      await vi.waitFor(async () => expect(await store.get('alice')).toBeUndefined())
    }
  })

  test.each(['init', 'resetAll'])('a store whose %s is not a function is rejected', (member) => {
    const store = Object.assign(new MemoryStore(), { [member]: 'not-a-function' })
    expect(() => rateLimit({ store, ...quiet })).toThrow(/store/)
  })

  // Reproduces a bug: ours was undefined with the default store, and without resetKey with one of Spillway.
  test.each([
    ['the default', () => ({})],
    ['its own', () => ({ store: new MemoryStore() })],
    ...(name === 'ours' ? [["Spillway's", () => ({ store: ours.memoryStore() as never })] as const] : []),
  ] as const)('a handler resets a key in the store of the options: %s', async (_, options) => {
    const limit = rateLimit({
      ...options(),
      limit: 1,
      ...quiet,
      handler: async (req, res, _next, { store }) => {
        await store.resetKey((req as never as Record<string, { key: string }>)['rateLimit']?.key ?? '')
        res.status(429).end()
      },
    })
    const app = express().use(limit, (_req, res) => {
      res.end()
    })
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) statuses.push((await request(app).get('/')).status)
    expect(statuses).toEqual([200, 429, 200, 429])
  })

  // Reproduces a bug: ours failed at the first request of an IPv6 client.
  test.each([
    ['a value', '64'],
    ['a function', async () => '64'],
  ])('numbers as text, such as of environment variables, are read as numbers: %s', async (_, ipv6Subnet) => {
    const options = { limit: '1', ipv6Subnet } as object
    const app = express().set('trust proxy', 1)
    app.use(rateLimit({ ...options, ...quiet }), (_req, res) => {
      res.end()
    })
    const statuses: number[] = []
    for (const address of ['2001:db8::7', '2001:db8::8', '2001:db8:0:1::7']) {
      statuses.push((await request(app).get('/').set('x-forwarded-for', address)).status)
    }
    expect(statuses).toEqual([200, 429, 200])
  })

  // Only ours: theirs appends the text to the time, reports NaN, and never ends the window.
  test.runIf(name === 'ours')('a window whose length is text ends', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 })
    const app = express().use(rateLimit({ windowMs: '60000' as never, limit: 1, ...quiet }), (_req, res) => {
      res.end()
    })
    const statuses: number[] = []
    for (const now of [0, 59_999, 60_000]) {
      vi.setSystemTime(now)
      statuses.push((await request(app).get('/')).status)
    }
    expect(statuses).toEqual([200, 429, 200])
  })
})

// Reproduces a bug: headers had w=NaN.
test('a windowMs with a unit is a duration, as elsewhere', async () => {
  const options = { windowMs: '1m' as never, standardHeaders: 'draft-8', legacyHeaders: false } as const
  const app = express().use(ours.rateLimit({ ...options, keyGenerator: () => 'alice', ...quiet }), (_req, res) => {
    res.end()
  })
  expect((await request(app).get('/')).headers['ratelimit-policy']).toMatch(/^"5-in-1min"; q=5; w=60; /)
})

test('a logger without methods is rejected when the limiter is built', () => {
  expect(() => ours.rateLimit({ logger: {} as never })).toThrow('logger must have the methods error and warn')
})
