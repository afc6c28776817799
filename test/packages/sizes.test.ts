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

/** The size budget of each use, in bytes: budgets only fall. */
const uses: readonly [use: string, most: Sizes, code: string][] = [
  ['a quota', [6_500, 6_400], "export { perMinute } from '@spillway/core'"],
  ['a limiter', [24_800, 24_100], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [34_300, 33_300], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [56_800, 54_800], adapter('hono')],
  ['rateLimit for fetch', [56_700, 54_800], adapter('fetch')],
  ['rateLimit for Express', [56_500, 54_800], adapter('express')],
  ['rateLimit for Node', [56_200, 54_400], adapter('node')],
  ['rateLimit for Koa', [55_800, 54_000], adapter('koa')],
  ['rateLimit for Fastify', [56_300, 54_500], adapter('fastify')],
  ['rateLimit for h3', [57_000, 55_000], adapter('h3')],
  ['rateLimit for h3 1', [56_400, 54_600], adapter('h3/v1')],
  ['rateLimit for Elysia', [57_000, 55_100], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [56_800, 54_900], FEATURES],
  ['a lean quota and store', [6_900, 6_600], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [15_900, 15_400], lean('hono')],
  ['lean: rateLimit for fetch', [16_000, 15_500], lean('fetch')],
  ['lean: rateLimit for Express', [15_700, 15_400], lean('express')],
  ['lean: rateLimit for Node', [15_600, 15_200], lean('node')],
  ['lean: rateLimit for Koa', [15_300, 14_900], lean('koa')],
  ['lean: rateLimit for Fastify', [15_700, 15_300], lean('fastify')],
  ['lean: rateLimit for h3', [15_800, 15_300], lean('h3')],
  ['lean: rateLimit for h3 1', [16_200, 15_800], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [15_700, 15_200], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [22_800, 22_100], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_800, 8_600], LEAN_LIMITER],
  ['rateLimiter over redisStore', [50_400, 49_000], REDIS_LIMITER],
  ['lean: rateLimiter over redisStore', [25_000, 23_400], LEAN_REDIS_LIMITER],
  ['lean: redisStore, with its deadline, breaker and failure modes', [22_100, 20_500], LEAN_REDIS],
  ['redisStore', [33_700, 32_700], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [145_300, 141_600],
  '@spillway/cli/browser': [48_100, 46_600],
  '@spillway/cloudflare': [10_900, 10_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [68_700, 67_000],
  '@spillway/core': [46_200, 44_700],
  '@spillway/core/http': [48_800, 47_400],
  '@spillway/core/http/lean': [45_000, 43_600],
  '@spillway/core/lean': [22_100, 21_400],
  '@spillway/core/rules': [23_000, 22_600],
  '@spillway/elysia/lean': [55_200, 53_300],
  '@spillway/elysia': [78_000, 75_200],
  '@spillway/express/lean': [54_700, 52_900],
  '@spillway/express': [77_500, 75_000],
  '@spillway/express/compat': [28_300, 27_300],
  '@spillway/fastify/lean': [54_500, 52_700],
  '@spillway/fastify': [77_500, 74_800],
  '@spillway/fetch/lean': [54_900, 53_000],
  '@spillway/fetch': [77_700, 74_900],
  '@spillway/h3/lean': [55_300, 53_300],
  '@spillway/h3': [78_000, 75_200],
  '@spillway/h3/v1/lean': [54_700, 52_800],
  '@spillway/h3/v1': [77_500, 74_700],
  '@spillway/hono': [77_700, 75_000],
  '@spillway/hono/lean': [55_000, 53_100],
  '@spillway/koa/lean': [54_000, 52_200],
  '@spillway/koa': [76_900, 74_200],
  '@spillway/memory': [44_200, 43_000],
  '@spillway/memory/lean-adapter': [48_600, 46_900],
  '@spillway/memory/lean': [7_000, 6_700],
  '@spillway/memory/adapter': [52_900, 50_600],
  '@spillway/nestjs': [81_400, 78_400],
  '@spillway/nestjs/throttler': [33_700, 32_300],
  '@spillway/node/lean': [54_400, 52_600],
  '@spillway/node': [77_200, 74_600],
  '@spillway/opentelemetry': [4_500, 4_400],
  '@spillway/plans': [11_000, 10_700],
  '@spillway/postgres': [31_800, 31_100],
  '@spillway/redis': [33_700, 32_800],
  '@spillway/redis/lean': [32_900, 31_900],
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
