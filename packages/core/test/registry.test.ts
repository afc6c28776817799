import { fakeClock, modelStore } from '@spillway/conformance'
import { describe, expect, test, vi } from 'vitest'
import { plainReader } from '../../../test/plain-reader.ts'
import { httpGuard, type RateLimitOptions } from '../src/http/index.ts'
import {
  perMinute,
  QuotaError,
  rateLimiter,
  type Store,
  withDenyCache,
  withHashedKeys,
  withLeases,
} from '../src/index.ts'

/** A store of its own on a database, as redisStore(client, { prefix }) makes one each time that it is called. */
const storeOn = (owner: object, name = 'spillway'): Store => ({
  ...modelStore(fakeClock()),
  scope: { owner, name },
})

const limit = (options: object) => httpGuard(options as RateLimitOptions<object>, plainReader)

describe('two limiters of one name on one database', () => {
  // The README's line, written twice: 100 calls of one route, and the first login ever was denied.
  test.each<[part: string, one: object, other: object]>([
    ['quota', { quota: perMinute(100) }, { quota: perMinute(5) }],
    ['quota', { quota: perMinute(60) }, { quota: perMinute(60, { burst: 6 }) }],
    ['key', { quota: perMinute(5) }, { quota: perMinute(5), key: 'header:x-api-key' }],
    ['key', { quota: perMinute(5), key: () => 'a' }, { quota: perMinute(5), key: () => 'b' }],
    ['match', { quota: perMinute(5) }, { quota: perMinute(5), match: { path: '/login' } }],
    ['match', { quota: perMinute(5), match: () => true }, { quota: perMinute(5), match: () => false }],
    ['quota', { quota: () => perMinute(5) }, { quota: () => perMinute(6) }],
    ['quota', { quota: () => perMinute(5) }, { quota: perMinute(5) }],
  ])('are rejected where they differ in %s: %j and %j', (part, one, other) => {
    const client = {}
    limit({ ...one, store: storeOn(client) })
    const second = () => limit({ ...other, store: storeOn(client) })
    expect(second).toThrow(QuotaError)
    expect(second).toThrow(`two limiters on one database are named "default"`)
    expect(second).toThrow(`but differ in ${part}: `)
    expect(second).toThrow(`Give each a name of its own, such as name: 'login'.`)
    // What was rejected is not registered, nor does it matter elsewhere.
    limit({ ...one, store: storeOn(client) })
    for (const store of [storeOn({}), storeOn(client, 'shop')]) limit({ ...other, store })
    limit({ ...other, name: 'login', store: storeOn(client) })
  })

  test('are allowed where they are the same: an application that is built twice', () => {
    const client = {}
    const build = () =>
      limit({
        policies: [
          { name: 'a', quota: (request: { pro?: boolean }) => perMinute(request.pro ? 10 : 1), key: () => 'everybody' },
          { name: 'b', quota: perMinute(5), key: ['ip', 'path'], match: { path: '/b', claim: { plan: 'pro' } } },
          { name: 'c', quota: perMinute(5), match: (request: object) => 'c' in request, mode: 'shadow' },
        ],
        claims: () => undefined,
        store: storeOn(client),
      })
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
    for (let i = 0; i < 10_000; i++) build()
    expect(warned.mock.calls.flat()).toEqual([expect.stringContaining('named "a" and count as one')])
  })

  // They counted as one without a word: nothing distinguishes them from an application that is built twice.
  test.each<[option: string, optionFor: (tenant: string) => object]>([
    ['key', (tenant) => ({ key: () => tenant })],
    ['match', (tenant) => ({ match: () => tenant === 'a' })],
    ['quota', (tenant) => ({ quota: () => perMinute(tenant.length) })],
    [
      'key',
      (tenant) => ({
        key: function (this: unknown) {
          return `${this}`
        }.bind(tenant),
      }),
    ],
  ])('are warned of, once, if their %s functions have one source and are two closures', (option, optionFor) => {
    const warned: string[] = []
    const logger = { warn: (message: string) => void warned.push(message) }
    const client = {}
    for (const tenant of ['a', 'b', 'c']) {
      limit({ quota: perMinute(5), ...optionFor(tenant), logger, store: storeOn(client) })
    }
    expect(warned).toEqual([
      expect.stringMatching(
        new RegExp(
          `named "default" and count as one. Their ${option} functions have the same source, .*warn_spillway_same_source`,
        ),
      ),
    ])
  })

  test('are not warned of if they share the function, or have names of their own', () => {
    const warned: string[] = []
    const logger = { warn: (message: string) => void warned.push(message) }
    const client = {}
    const key = () => 'everybody'
    for (const name of ['a', 'b', 'a']) limit({ name, quota: perMinute(5), key, logger, store: storeOn(client) })
    const guard = limit({ quota: perMinute(5), key: () => 'a', logger, store: storeOn(client) })
    for (let i = 0; i < 3; i++) guard.replace([{ quota: perMinute(5), key: () => 'a' }])
    for (const name of ['c', 'd']) limit({ name, quota: perMinute(5), key: () => name, logger, store: storeOn(client) })
    expect(warned).toEqual([])
  })

  // On /a and /b they counted apart in memory, and as one in Redis, without a word.
  test('are warned of, once, if neither was given its name', () => {
    const warned: string[] = []
    const logger = { warn: (message: string) => void warned.push(message) }
    const client = {}
    for (let i = 0; i < 3; i++) limit({ quota: perMinute(5), blocks: true, logger, store: storeOn(client) })
    const unnamed =
      /two limiters without a name .* both are named "default", with quota "limit 5, .*", with key "ip", with match "all requests"\. Give each a name, .*warn_spillway_unnamed/
    expect(warned).toEqual([expect.stringMatching(unnamed)])
    // One for the same states, such as of an admin page, is not told that it counts with the middleware.
    rateLimiter({ quota: perMinute(5), logger, store: storeOn(client) })
    expect(warned).toHaveLength(1)
    const other = {}
    for (let i = 0; i < 2; i++) rateLimiter({ quota: perMinute(5), blocks: true, logger, store: storeOn(other) })
    const byKey = {}
    const quota = () => perMinute(5)
    for (let i = 0; i < 2; i++) rateLimiter({ quota, logger, store: storeOn(byKey) })
    expect(warned.slice(1)).toEqual([
      expect.stringMatching(/both are named "default", with quota "limit 5, /),
      expect.stringMatching(/both are named "default"\. Give each a name/),
    ])
  })

  test('are not warned of if both were given the name, if they have stores of their own, or if one replaces the other', () => {
    const warned: string[] = []
    const logger = { warn: (message: string) => void warned.push(message) }
    const client = {}
    for (const name of ['default', 'default', undefined])
      limit({ ...(name && { name }), quota: perMinute(5), logger, store: storeOn(client) })
    for (let i = 0; i < 2; i++) {
      limit({ quota: perMinute(5), logger, store: storeOn({}) })
      rateLimiter({ quotas: { minute: perMinute(5) }, logger, store: storeOn(client) })
    }
    const limiter = rateLimiter({ quota: perMinute(5), logger, store: storeOn({}) })
    limiter.replace({ quota: perMinute(5) })
    expect(warned).toEqual([])
  })

  test('are reported with what differs, of both', () => {
    const client = {}
    limit({ quota: perMinute(100), key: 'ip', store: storeOn(client) })
    expect(() => limit({ quota: perMinute(100), key: 'cookie:sid', store: storeOn(client) })).toThrow(
      'differ in key: "ip" and "cookie:sid"',
    )
    expect(() => limit({ quota: perMinute(5), store: storeOn(client) })).toThrow(/"limit 100, .*" and "limit 5, /)
    expect(() => limit({ quota: () => perMinute(5), key: 'ip', store: storeOn(client) })).toThrow(
      'differ in quota: "the same for all requests" and "() => ',
    )
  })

  test('are found behind every wrapper, and between rateLimit and rateLimiter', () => {
    const client = {}
    limit({ quota: perMinute(100), store: withDenyCache(storeOn(client)) })
    const stores = [
      withHashedKeys(storeOn(client), (key) => `#${key}`),
      withLeases(withDenyCache(storeOn(client)), { requests: 2 }),
    ]
    for (const store of stores) {
      expect(() => rateLimiter({ quota: perMinute(5), store })).toThrow('differ in quota')
      // It may peek and reset by any key.
      rateLimiter({ quota: perMinute(100), store })
    }
    expect(() => limit({ quota: perMinute(100), key: 'path', store: storeOn(client) })).toThrow('differ in key')
    expect(() => rateLimiter({ quotas: { default: perMinute(1) }, store: storeOn(client) })).toThrow('differ in quota')
  })

  test('are not compared by a tier and a function that picks one', () => {
    const client = {}
    limit({ quota: () => perMinute(5), store: storeOn(client) })
    rateLimiter({ quota: perMinute(5), store: storeOn(client) })
  })

  test('are found where they share a store in memory, and not where each has its own', () => {
    const store = modelStore(fakeClock())
    limit({ quota: perMinute(100), store })
    expect(() => limit({ quota: perMinute(5), store })).toThrow('differ in quota')
    limit({ quota: perMinute(5), store: modelStore(fakeClock()) })
    expect(() => limit({ policies: [{ quota: perMinute(5), store }], store: modelStore(fakeClock()) })).toThrow(
      'differ in quota',
    )
  })
})

test('replace() takes the names of the limiter itself, and no others', () => {
  const client = {}
  const guard = limit({
    policies: [
      { name: 'a', quota: perMinute(1) },
      { name: 'b', quota: perMinute(1) },
    ],
    store: storeOn(client),
  })
  limit({ name: 'other', quota: perMinute(1), store: storeOn(client) })
  guard.replace([{ name: 'a', quota: perMinute(2), key: 'path' }])
  const taken = [
    { name: 'a', quota: perMinute(3) },
    { name: 'other', quota: perMinute(2) },
  ]
  expect(() => guard.replace(taken)).toThrow('named "other"')
  const elsewhere = {}
  limit({ name: 'a', quota: perMinute(9), store: storeOn(elsewhere) })
  expect(() => guard.replace([{ name: 'a', quota: perMinute(3), store: storeOn(elsewhere) }])).toThrow('named "a"')
  // What was denied has changed nothing; what was given up is free.
  expect(() => limit({ name: 'a', quota: perMinute(3), key: 'path', store: storeOn(client) })).toThrow('named "a"')
  limit({ name: 'a', quota: perMinute(2), key: 'path', store: storeOn(client) })
  limit({ name: 'b', quota: perMinute(2), store: storeOn(client) })
})

// Names that a program makes up must not fill the memory.
test('of many names the latest are compared', () => {
  const client = {}
  for (let i = 0; i < 1_001; i++) rateLimiter({ name: `tenant ${i}`, quota: perMinute(1), store: storeOn(client) })
  rateLimiter({ name: 'tenant 0', quota: perMinute(2), store: storeOn(client) })
  expect(() => rateLimiter({ name: 'tenant 1000', quota: perMinute(2), store: storeOn(client) })).toThrow(QuotaError)
})
