import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { adapter, bundleOf, sizeByRolldown } from './bundle.ts'
import { root } from './pack.ts'

// The size that a user's bundle grows by, with esbuild and with rolldown: minified with all imports, and gzipped.

const app = inject('app')

/** The sizes with esbuild and with rolldown. */
type Sizes = readonly [esbuild: number, rolldown: number]

const lean = (name: string): string => `export { perMinute, rateLimit } from '@spillway/${name}/lean'`
const FEATURES = `import { perMinute, rateLimit } from '@spillway/hono'
export const limit = rateLimit({ quota: perMinute(100), trustProxy: 1, key: 'header:x-api-key', match: { path: '/login' } })`
const LEAN_FEATURES = `import { createRateLimit, matching, perMinute, selectors, trustedProxies } from '@spillway/hono/lean'
const rateLimit = createRateLimit(trustedProxies, selectors, matching)
export const limit = rateLimit({ quota: perMinute(100), trustProxy: 1, key: 'header:x-api-key', match: { path: '/login' } })`
const LEAN_LIMITER = `import { rateLimiter } from '@spillway/core/lean'
import { memoryStore, perMinute } from '@spillway/memory/lean'
export const limiter = rateLimiter({ quota: perMinute(100), store: memoryStore() })`
const REDIS_LIMITER = `import { perMinute, rateLimiter } from '@spillway/core'
import { redisStore } from '@spillway/redis'
export const limiterOf = (client) => rateLimiter({ quota: perMinute(100), store: redisStore(client) })`

const LEAN_REDIS = `import { buckets, createRedisStore } from '@spillway/redis/lean'
export const redisStore = createRedisStore(buckets)`
const LEAN_REDIS_LIMITER = `import { perMinute, rateLimiter } from '@spillway/core/lean'
${LEAN_REDIS}
export const limiterOf = (client) => rateLimiter({ quota: perMinute(100), store: redisStore(client) })`

const CLIENT = `export { perSecond } from '@spillway/core'
export { limitedFetch } from '@spillway/client'`
const CLIENT_AND_LIMITER = `${CLIENT}
export { rateLimiter } from '@spillway/core'`

/** The size budget of each use, in bytes: budgets only fall. */
const uses: readonly [use: string, most: Sizes, code: string][] = [
  ['a quota', [6_500, 6_400], "export { perMinute } from '@spillway/core'"],
  ['a limiter', [26_200, 25_400], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [35_500, 34_500], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [57_800, 56_100], adapter('hono')],
  ['rateLimit for fetch', [57_800, 56_100], adapter('fetch')],
  ['rateLimit for Express', [57_800, 56_100], adapter('express')],
  ['rateLimit for Node', [57_400, 55_700], adapter('node')],
  ['rateLimit for Koa', [56_900, 55_300], adapter('koa')],
  ['rateLimit for Fastify', [57_500, 55_800], adapter('fastify')],
  ['rateLimit for h3', [58_000, 56_300], adapter('h3')],
  ['rateLimit for h3 1', [57_600, 55_900], adapter('h3/v1')],
  ['rateLimit for Elysia', [58_000, 56_300], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [57_800, 56_100], FEATURES],
  ['a lean quota and store', [6_500, 6_300], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [15_110, 14_800], lean('hono')],
  ['lean: rateLimit for fetch', [15_400, 15_000], lean('fetch')],
  ['lean: rateLimit for Express', [15_200, 14_900], lean('express')],
  ['lean: rateLimit for Node', [15_100, 14_700], lean('node')],
  ['lean: rateLimit for Koa', [14_800, 14_400], lean('koa')],
  ['lean: rateLimit for Fastify', [15_200, 14_800], lean('fastify')],
  ['lean: rateLimit for h3', [15_200, 14_800], lean('h3')],
  ['lean: rateLimit for h3 1', [15_700, 15_300], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [15_000, 14_600], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [22_400, 21_800], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_500, 8_200], LEAN_LIMITER],
  ['rateLimiter over redisStore', [53_100, 51_700], REDIS_LIMITER],
  ['lean: rateLimiter over redisStore', [25_000, 23_400], LEAN_REDIS_LIMITER],
  ['lean: redisStore, with its deadline, breaker and failure modes', [22_200, 20_600], LEAN_REDIS],
  ['limitedFetch and a quota', [20_000, 19_600], CLIENT],
  ['limitedFetch beside rateLimiter', [34_500, 33_600], CLIENT_AND_LIMITER],
  ['redisStore', [35_500, 34_600], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [7_400, 7_200],
  '@spillway/client': [20_100, 19_700],
  '@spillway/client/undici': [19_500, 19_100],
  '@spillway/cli': [154_700, 151_200],
  '@spillway/cli/browser': [48_500, 47_300],
  '@spillway/cloudflare': [11_000, 10_600],
  '@spillway/cloudflare/object': [6_700, 6_700],
  '@spillway/conformance': [75_600, 73_700],
  '@spillway/core': [48_100, 46_600],
  '@spillway/core/http': [50_400, 48_900],
  '@spillway/core/http/lean': [46_500, 45_000],
  '@spillway/core/in-flight': [13_100, 12_800],
  '@spillway/core/lean': [23_400, 22_700],
  '@spillway/core/rules': [23_300, 22_900],
  '@spillway/elysia/lean': [56_300, 54_600],
  '@spillway/elysia': [82_000, 79_200],
  '@spillway/express/lean': [56_000, 54_300],
  '@spillway/express': [81_700, 79_000],
  '@spillway/express/compat': [28_000, 27_200],
  '@spillway/fastify/lean': [55_800, 54_100],
  '@spillway/fastify': [81_600, 78_800],
  '@spillway/fetch/lean': [56_100, 54_300],
  '@spillway/fetch': [81_700, 79_000],
  '@spillway/h3/lean': [56_400, 54_600],
  '@spillway/h3': [82_000, 79_200],
  '@spillway/h3/v1/lean': [55_900, 54_200],
  '@spillway/h3/v1': [81_500, 78_800],
  '@spillway/hono': [81_700, 79_000],
  '@spillway/hono/lean': [56_100, 54_400],
  '@spillway/koa/lean': [55_300, 53_600],
  '@spillway/koa': [81_000, 78_300],
  '@spillway/memory': [48_200, 46_900],
  '@spillway/memory/lean-adapter': [49_700, 48_200],
  '@spillway/memory/lean': [6_600, 6_400],
  '@spillway/memory/cluster': [39_000, 38_000],
  '@spillway/memory/adapter': [56_700, 54_700],
  '@spillway/nestjs': [85_400, 82_500],
  '@spillway/nestjs/throttler': [33_400, 32_400],
  '@spillway/node/lean': [55_800, 54_100],
  '@spillway/node': [81_400, 78_700],
  '@spillway/opentelemetry': [5_200, 5_100],
  '@spillway/plans': [11_000, 10_700],
  '@spillway/postgres': [34_200, 33_500],
  '@spillway/redis': [35_600, 34_600],
  '@spillway/redis/lean': [33_600, 32_700],
  '@spillway/shed': [10_700, 10_400],
  '@spillway/shed/elysia': [9_900, 9_700],
  '@spillway/shed/fastify': [9_000, 8_800],
  '@spillway/shed/fetch': [9_500, 9_300],
  '@spillway/shed/h3': [9_600, 9_400],
  '@spillway/shed/h3/v1': [9_300, 9_100],
  '@spillway/shed/hono': [9_500, 9_300],
  '@spillway/shed/koa': [8_900, 8_800],
  '@spillway/shed/nestjs': [9_800, 9_600],
  '@spillway/sqlite': [15_800, 15_300],
  '@spillway/stores': [15_300, 14_700],
}

async function expectSize(use: string, code: string, most: Sizes): Promise<void> {
  const sizes: Sizes = [(await bundleOf(app, code)).size, await sizeByRolldown(app, code)]
  process.stdout.write(`${use}: ${sizes.join(' and ')} of ${most.join(' and ')} bytes\n`)
  expect(sizes[0]).toBeLessThanOrEqual(most[0])
  expect(sizes[1]).toBeLessThanOrEqual(most[1])
}

test.each(uses)('%s takes at most %o bytes', (use, most, code) => expectSize(use, code, most))

test.each(entriesOf(app))('all of $specifier takes no more than it may', ({ specifier }) =>
  expectSize(`all of ${specifier}`, `export * from '${specifier}'`, entries[specifier] as Sizes),
)

test.each(entriesOf(app))('nothing is left of $specifier where nothing of it is used', async ({ specifier }) => {
  expect((await bundleOf(app, `import '${specifier}'`)).text).toBe('')
})

test('the README states the size of the largest adapter', () => {
  const most = Math.max(...uses.flatMap(([, sizes]) => sizes))
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(
    `takes at most ${most / 1000} kB of a bundle, gzipped`,
  )
})
