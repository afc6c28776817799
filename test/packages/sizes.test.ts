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
  ['a limiter', [24_000, 23_300], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [33_500, 32_500], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [55_400, 53_700], adapter('hono')],
  ['rateLimit for fetch', [55_300, 53_500], adapter('fetch')],
  ['rateLimit for Express', [55_100, 53_400], adapter('express')],
  ['rateLimit for Node', [54_900, 53_100], adapter('node')],
  ['rateLimit for Koa', [54_400, 52_600], adapter('koa')],
  ['rateLimit for Fastify', [54_900, 53_200], adapter('fastify')],
  ['rateLimit for h3', [55_500, 53_800], adapter('h3')],
  ['rateLimit for h3 1', [55_100, 53_400], adapter('h3/v1')],
  ['rateLimit for Elysia', [55_500, 53_800], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [55_400, 53_700], FEATURES],
  ['a lean quota and store', [6_900, 6_600], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [16_500, 16_100], lean('hono')],
  ['lean: rateLimit for fetch', [16_600, 16_200], lean('fetch')],
  ['lean: rateLimit for Express', [16_200, 15_800], lean('express')],
  ['lean: rateLimit for Node', [16_200, 15_800], lean('node')],
  ['lean: rateLimit for Koa', [15_700, 15_400], lean('koa')],
  ['lean: rateLimit for Fastify', [16_100, 15_700], lean('fastify')],
  ['lean: rateLimit for h3', [16_400, 16_000], lean('h3')],
  ['lean: rateLimit for h3 1', [16_400, 16_000], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [16_200, 15_800], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [23_100, 22_400], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_800, 8_500], LEAN_LIMITER],
  ['rateLimiter over redisStore', [48_900, 46_300], REDIS_LIMITER],
  ['lean: rateLimiter over redisStore', [23_300, 22_800], LEAN_REDIS_LIMITER],
  ['lean: redisStore, with its deadline, breaker and failure modes', [20_400, 19_900], LEAN_REDIS],
  ['redisStore', [26_700, 24_900], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [142_900, 139_500],
  '@spillway/cli/browser': [47_400, 46_200],
  '@spillway/cloudflare': [2_700, 2_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [66_600, 65_000],
  '@spillway/core': [45_200, 43_700],
  '@spillway/core/http': [47_400, 45_900],
  '@spillway/core/http/lean': [43_700, 42_300],
  '@spillway/core/internal': [20_100, 19_700],
  '@spillway/core/lean': [21_200, 20_500],
  '@spillway/core/rules': [23_000, 22_600],
  '@spillway/elysia/lean': [53_600, 51_900],
  '@spillway/elysia': [76_600, 73_900],
  '@spillway/express/lean': [53_100, 51_500],
  '@spillway/express': [76_200, 73_600],
  '@spillway/express/compat': [27_800, 27_000],
  '@spillway/fastify/lean': [53_000, 51_300],
  '@spillway/fastify': [76_200, 73_500],
  '@spillway/fetch/lean': [53_400, 51_700],
  '@spillway/fetch': [76_400, 73_700],
  '@spillway/h3/lean': [53_600, 51_900],
  '@spillway/h3': [76_600, 73_900],
  '@spillway/h3/v1/lean': [53_200, 51_600],
  '@spillway/h3/v1': [76_200, 73_500],
  '@spillway/hono': [76_500, 73_900],
  '@spillway/hono/lean': [53_600, 51_900],
  '@spillway/koa/lean': [52_500, 50_800],
  '@spillway/koa': [75_500, 72_800],
  '@spillway/memory': [43_300, 42_100],
  '@spillway/memory/lean-adapter': [47_200, 45_500],
  '@spillway/memory/lean': [7_000, 6_700],
  '@spillway/memory/adapter': [51_600, 49_700],
  '@spillway/nestjs': [79_800, 77_100],
  '@spillway/nestjs/throttler': [32_800, 31_800],
  '@spillway/node/lean': [53_000, 51_300],
  '@spillway/node': [76_000, 73_400],
  '@spillway/opentelemetry': [4_500, 4_400],
  '@spillway/plans': [11_000, 10_700],
  '@spillway/postgres': [24_100, 23_700],
  '@spillway/redis': [26_700, 26_200],
  '@spillway/redis/lean': [33_900, 33_000],
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
