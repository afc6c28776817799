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
  ['a limiter', [26_800, 26_000], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [36_100, 35_100], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [58_500, 56_700], adapter('hono')],
  ['rateLimit for fetch', [58_500, 56_700], adapter('fetch')],
  ['rateLimit for Express', [58_400, 56_700], adapter('express')],
  ['rateLimit for Node', [58_100, 56_400], adapter('node')],
  ['rateLimit for Koa', [57_700, 55_900], adapter('koa')],
  ['rateLimit for Fastify', [58_200, 56_500], adapter('fastify')],
  ['rateLimit for h3', [58_700, 57_000], adapter('h3')],
  ['rateLimit for h3 1', [58_300, 56_500], adapter('h3/v1')],
  ['rateLimit for Elysia', [58_700, 57_000], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [58_500, 56_800], FEATURES],
  ['a lean quota and store', [6_600, 6_400], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [15_100, 14_800], lean('hono')],
  ['lean: rateLimit for fetch', [15_400, 15_000], lean('fetch')],
  ['lean: rateLimit for Express', [15_200, 14_900], lean('express')],
  ['lean: rateLimit for Node', [15_100, 14_700], lean('node')],
  ['lean: rateLimit for Koa', [14_800, 14_500], lean('koa')],
  ['lean: rateLimit for Fastify', [15_200, 14_800], lean('fastify')],
  ['lean: rateLimit for h3', [15_200, 14_800], lean('h3')],
  ['lean: rateLimit for h3 1', [15_700, 15_300], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [15_000, 14_600], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [22_400, 21_800], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_500, 8_300], LEAN_LIMITER],
  ['rateLimiter over redisStore', [52_900, 51_500], REDIS_LIMITER],
  ['lean: rateLimiter over redisStore', [25_000, 23_400], LEAN_REDIS_LIMITER],
  ['lean: redisStore, with its deadline, breaker and failure modes', [22_200, 20_600], LEAN_REDIS],
  ['redisStore', [34_800, 33_800], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [147_700, 144_300],
  '@spillway/cli/browser': [47_700, 46_500],
  '@spillway/cloudflare': [11_000, 10_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [71_500, 69_700],
  '@spillway/core': [48_200, 46_600],
  '@spillway/core/http': [51_100, 49_600],
  '@spillway/core/http/lean': [47_200, 45_700],
  '@spillway/core/lean': [24_000, 23_300],
  '@spillway/core/rules': [23_100, 22_700],
  '@spillway/elysia/lean': [57_000, 55_300],
  '@spillway/elysia': [79_700, 77_100],
  '@spillway/express/lean': [56_700, 54_900],
  '@spillway/express': [79_500, 76_900],
  '@spillway/express/compat': [28_000, 27_200],
  '@spillway/fastify/lean': [56_400, 54_700],
  '@spillway/fastify': [79_500, 76_700],
  '@spillway/fetch/lean': [56_700, 55_000],
  '@spillway/fetch': [79_400, 76_800],
  '@spillway/h3/lean': [57_000, 55_300],
  '@spillway/h3': [79_700, 77_000],
  '@spillway/h3/v1/lean': [56_600, 54_800],
  '@spillway/h3/v1': [79_300, 76_600],
  '@spillway/hono': [79_500, 76_800],
  '@spillway/hono/lean': [56_800, 55_000],
  '@spillway/koa/lean': [56_000, 54_200],
  '@spillway/koa': [78_700, 76_100],
  '@spillway/memory': [46_100, 44_800],
  '@spillway/memory/lean-adapter': [50_400, 48_800],
  '@spillway/memory/lean': [6_700, 6_500],
  '@spillway/memory/adapter': [54_400, 52_600],
  '@spillway/nestjs': [83_300, 80_500],
  '@spillway/nestjs/throttler': [33_400, 32_400],
  '@spillway/node/lean': [56_400, 54_700],
  '@spillway/node': [79_200, 76_500],
  '@spillway/opentelemetry': [4_600, 4_400],
  '@spillway/plans': [11_100, 10_800],
  '@spillway/postgres': [33_000, 32_200],
  '@spillway/redis': [34_800, 33_900],
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
