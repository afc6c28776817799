import { fakeClock, modelStore } from '@spillway/conformance'
import express from 'express'
import { MemoryStore, type Options as TheirOptions, rateLimit as theirs } from 'express-rate-limit'
import request from 'supertest'
import { expect, test } from 'vitest'
import { memoryStore, rateLimit as ours, toExpressRateLimitStore } from '../../src/compat/index.ts'

// Each of these mistakes is logged once, with the code that express-rate-limit documents.

type Mistake = readonly [what: string, make: () => Partial<TheirOptions>, setup?: Setup]
interface Setup {
  readonly trust?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The number of limiters on the route. */
  readonly mounts?: number
  readonly inHandler?: boolean
}

const known = (result: unknown): Partial<TheirOptions> => result as Partial<TheirOptions>
const noReset = { increment: () => ({ totalHits: 1, resetTime: undefined }), decrement: () => {}, resetKey: () => {} }

const counting = { ...noReset, increment: () => ({ totalHits: 1, resetTime: new Date() }) }

const mistakes: readonly Mistake[] = [
  ['nothing wrong', () => ({})],
  ['an unknown option', () => known({ limits: 3 })],
  ['an unknown check', () => known({ validate: { proxies: false } })],
  ['a removed option', () => known({ draft_polli_ratelimit_headers: true })],
  ['X-Forwarded-For without a trusted proxy', () => ({}), { headers: { 'x-forwarded-for': '192.0.2.1' } }],
  ['a header that Express does not read', () => ({}), { headers: { forwarded: 'for=192.0.2.1' } }],
  ['trust in every proxy', () => ({}), { trust: true }],
  ['an address with a port', () => ({}), { trust: 1, headers: { 'x-forwarded-for': '192.0.2.1:80' } }],
  ['a limit of 0', () => ({ limit: 0 })],
  ['an unknown draft', () => known({ standardHeaders: 'draft-5' })],
  ['a subnet that is too wide', () => ({ ipv6Subnet: 16 })],
  [
    'a subnet by request that is too wide',
    () => ({ ipv6Subnet: () => 16 }),
    { trust: 1, headers: { 'x-forwarded-for': '2001:db8::1' } },
  ],
  ['a key without the prefix', () => ({ keyGenerator: (req) => req.ip ?? '' })],
  ['a subnet that keyGenerator ignores', () => ({ ipv6Subnet: 64, keyGenerator: () => 'all' })],
  ['a store without the end of a window', () => ({ store: noReset, standardHeaders: 'draft-7' })],
  [
    'a store that cannot count',
    () => ({ store: { ...noReset, increment: () => ({ totalHits: 0.5, resetTime: new Date() }) } }),
  ],
  [
    'a store and a key that two limiters count',
    () => ({ store: counting, validate: { unsharedStore: false } }),
    { mounts: 2 },
  ],
  ['a limiter made in a handler', () => ({}), { inHandler: true }],
]

/** The codes that a limiter logs. */
async function codesOf(limit: typeof theirs, make: () => Partial<TheirOptions>, setup: Setup = {}): Promise<unknown> {
  const codes: unknown[] = []
  const logger = {
    error: (error: unknown) => void codes.push((error as { code?: string }).code),
    warn: (error: unknown) => void codes.push((error as { code?: string }).code),
  }
  const app = express()
  if (setup.trust !== undefined) app.set('trust proxy', setup.trust)
  const build = () => limit({ ...make(), logger })
  const limiter = setup.inHandler ? undefined : build()
  app.use((req, res, next) => (limiter ?? build())(req, res, next))
  if (setup.mounts === 2) app.use(build())
  app.use((_req, res) => void res.end())
  for (let i = 0; i < 2; i++)
    await request(app)
      .get('/')
      .set(setup.headers ?? {})
  return [...new Set(codes)].sort()
}

test.each(mistakes.map(([what, make, setup = {}]) => [what, make, setup] as const))(
  'warns of %s',
  async (what, make, setup) => {
    const codes = await codesOf(theirs, make, setup)
    expect(await codesOf(ours as typeof theirs, make, setup)).toEqual(codes)
    if (what !== 'nothing wrong') expect(codes).not.toEqual([])
  },
)

test('warns of a store that two limiters share, ours or theirs', async () => {
  for (const store of [new MemoryStore(), memoryStore()]) {
    const make = () => known({ store })
    expect(await codesOf(ours as typeof theirs, make)).toEqual([])
    expect(await codesOf(ours as typeof theirs, make)).toEqual(['ERR_ERL_STORE_REUSE'])
  }
})

// Two redisStore(client) are two objects and one count: nothing was said.
test('warns of two stores of one database, unless both were given names', async () => {
  const owner = {}
  const storeOn = (name: string) => ({ ...modelStore(fakeClock()), scope: { owner, name } })
  const codes = (store: object) => codesOf(ours as typeof theirs, () => known({ store } as Partial<TheirOptions>))
  expect(await codes(storeOn('a'))).toEqual([])
  expect(await codes(storeOn('a'))).toEqual(['ERR_ERL_STORE_REUSE'])
  expect(await codes(toExpressRateLimitStore(storeOn('a')))).toEqual(['ERR_ERL_STORE_REUSE'])
  expect(await codes(storeOn('b'))).toEqual([])
  expect(await codes(toExpressRateLimitStore(storeOn('a'), { name: 'login' }))).toEqual([])
})

test('disabled checks do not warn', async () => {
  const silent = { limits: 3, ipv6Subnet: 16, limit: 0 }
  const codes = (validate: TheirOptions['validate']) =>
    codesOf(ours as typeof theirs, () => known({ ...silent, validate }))
  expect(await codes(false)).toEqual([])
  expect(await codes({ default: false, limit: true })).toEqual(['WRN_ERL_MAX_ZERO'])
  expect(await codesOf(ours as typeof theirs, () => known({ ipv6Subnet: '64' }))).toEqual([])
  expect(await codes({ knownOptions: false, limit: false })).toEqual(['ERR_ERL_IPV6_SUBNET'])
})

test('rejects options that could not work', () => {
  const rejected: readonly [Record<string, unknown>, string][] = [
    [{ windowMs: 0 }, 'windowMs must be a positive duration'],
    [{ windowMs: Number.NaN }, 'windowMs must be a positive duration'],
    [{ limit: Number.NaN }, 'limit must be a number of requests, or a function that returns it; got NaN'],
    [{ max: 'many' }, 'limit must be a number of requests, or a function that returns it; got "many"'],
    [{ limit: null }, 'got null'],
    [{ ipv6Subnet: 'wide' }, 'ipv6Subnet must be 1 to 128 bits, false, or a function that returns it; got "wide"'],
    [{ ipv6Subnet: 129 }, 'got 129'],
    [{ store: {} }, 'store must be a store of express-rate-limit'],
    [{ store: 'redis' }, 'got "redis"'],
    [{ logger: { warn: () => {} } }, 'logger must have the methods error and warn'],
  ]
  for (const [options, message] of rejected) expect(() => ours(options)).toThrow(message)
})
