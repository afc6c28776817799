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
  ['a limiter', [25_800, 25_000], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [35_300, 34_300], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [57_700, 55_900], adapter('hono')],
  ['rateLimit for fetch', [57_600, 55_800], adapter('fetch')],
  ['rateLimit for Express', [57_600, 55_800], adapter('express')],
  ['rateLimit for Node', [57_300, 55_500], adapter('node')],
  ['rateLimit for Koa', [56_900, 55_100], adapter('koa')],
  ['rateLimit for Fastify', [57_400, 55_600], adapter('fastify')],
  ['rateLimit for h3', [57_900, 56_100], adapter('h3')],
  ['rateLimit for h3 1', [57_400, 55_700], adapter('h3/v1')],
  ['rateLimit for Elysia', [57_900, 56_100], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [57_700, 55_900], FEATURES],
  ['a lean quota and store', [6_900, 6_600], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [15_800, 15_500], lean('hono')],
  ['lean: rateLimit for fetch', [16_000, 15_600], lean('fetch')],
  ['lean: rateLimit for Express', [15_800, 15_500], lean('express')],
  ['lean: rateLimit for Node', [15_700, 15_300], lean('node')],
  ['lean: rateLimit for Koa', [15_400, 15_000], lean('koa')],
  ['lean: rateLimit for Fastify', [15_800, 15_400], lean('fastify')],
  ['lean: rateLimit for h3', [15_800, 15_400], lean('h3')],
  ['lean: rateLimit for h3 1', [16_300, 15_900], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [15_600, 15_200], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [22_700, 22_100], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_800, 8_600], LEAN_LIMITER],
  ['rateLimiter over redisStore', [51_900, 50_500], REDIS_LIMITER],
  ['lean: rateLimiter over redisStore', [25_000, 23_400], LEAN_REDIS_LIMITER],
  ['lean: redisStore, with its deadline, breaker and failure modes', [22_100, 20_500], LEAN_REDIS],
  ['redisStore', [34_600, 33_700], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [146_900, 143_500],
  '@spillway/cli/browser': [47_800, 46_600],
  '@spillway/cloudflare': [10_900, 10_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [70_200, 68_500],
  '@spillway/core': [47_200, 45_700],
  '@spillway/core/http': [50_000, 48_600],
  '@spillway/core/http/lean': [46_100, 44_700],
  '@spillway/core/lean': [23_000, 22_200],
  '@spillway/core/rules': [23_000, 22_600],
  '@spillway/elysia/lean': [56_100, 54_400],
  '@spillway/elysia': [78_900, 76_300],
  '@spillway/express/lean': [55_800, 54_100],
  '@spillway/express': [78_700, 76_100],
  '@spillway/express/compat': [28_100, 27_300],
  '@spillway/fastify/lean': [55_600, 53_800],
  '@spillway/fastify': [78_700, 76_000],
  '@spillway/fetch/lean': [55_900, 54_100],
  '@spillway/fetch': [78_700, 76_000],
  '@spillway/h3/lean': [56_200, 54_400],
  '@spillway/h3': [78_900, 76_300],
  '@spillway/h3/v1/lean': [55_700, 54_000],
  '@spillway/h3/v1': [78_400, 75_900],
  '@spillway/hono': [78_700, 76_100],
  '@spillway/hono/lean': [55_900, 54_200],
  '@spillway/koa/lean': [55_100, 53_300],
  '@spillway/koa': [78_000, 75_400],
  '@spillway/memory': [45_200, 44_000],
  '@spillway/memory/lean-adapter': [49_600, 48_000],
  '@spillway/memory/lean': [7_000, 6_700],
  '@spillway/memory/adapter': [53_500, 51_700],
  '@spillway/nestjs': [82_500, 79_700],
  '@spillway/nestjs/throttler': [33_500, 32_500],
  '@spillway/node/lean': [55_600, 53_800],
  '@spillway/node': [78_400, 75_800],
  '@spillway/opentelemetry': [4_500, 4_400],
  '@spillway/plans': [11_000, 10_700],
  '@spillway/postgres': [33_100, 32_300],
  '@spillway/redis': [34_700, 33_800],
  '@spillway/redis/lean': [32_900, 32_000],
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
