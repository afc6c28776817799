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

/** The size budget of each use, in bytes: budgets only fall. */
const uses: readonly [use: string, most: Sizes, code: string][] = [
  ['a quota', [7_000, 6_800], "export { perMinute } from '@spillway/core'"],
  ['a limiter', [24_000, 23_200], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [35_700, 34_500], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [56_900, 55_000], adapter('hono')],
  ['rateLimit for fetch', [56_600, 54_800], adapter('fetch')],
  ['rateLimit for Express', [56_400, 54_600], adapter('express')],
  ['rateLimit for Node', [56_300, 54_400], adapter('node')],
  ['rateLimit for Koa', [55_800, 53_900], adapter('koa')],
  ['rateLimit for Fastify', [56_200, 54_400], adapter('fastify')],
  ['rateLimit for h3', [56_900, 55_000], adapter('h3')],
  ['rateLimit for h3 1', [56_500, 54_600], adapter('h3/v1')],
  ['rateLimit for Elysia', [56_900, 55_000], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [56_900, 55_100], FEATURES],
  ['a lean quota and store', [7_900, 7_700], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [17_600, 17_200], lean('hono')],
  ['lean: rateLimit for fetch', [17_800, 17_400], lean('fetch')],
  ['lean: rateLimit for Express', [17_400, 17_000], lean('express')],
  ['lean: rateLimit for Node', [17_300, 17_000], lean('node')],
  ['lean: rateLimit for Koa', [16_900, 16_500], lean('koa')],
  ['lean: rateLimit for Fastify', [17_300, 16_900], lean('fastify')],
  ['lean: rateLimit for h3', [17_600, 17_200], lean('h3')],
  ['lean: rateLimit for h3 1', [17_600, 17_200], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [17_400, 17_000], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [24_500, 23_900], LEAN_FEATURES],
  ['lean: a limiter in memory', [9_900, 9_600], LEAN_LIMITER],
  ['rateLimiter over redisStore', [49_200, 46_600], REDIS_LIMITER],
  ['redisStore', [26_600, 24_800], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [140_500, 137_100],
  '@spillway/cli/browser': [46_500, 45_300],
  '@spillway/cloudflare': [2_700, 2_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [64_000, 62_400],
  '@spillway/core': [42_800, 41_400],
  '@spillway/core/http': [46_400, 44_900],
  '@spillway/core/http/lean': [43_500, 42_100],
  '@spillway/core/internal': [19_800, 19_300],
  '@spillway/core/lean': [21_500, 20_800],
  '@spillway/core/rules': [20_100, 19_900],
  '@spillway/elysia/lean': [55_600, 53_800],
  '@spillway/elysia': [75_300, 72_600],
  '@spillway/express/lean': [55_100, 53_300],
  '@spillway/express': [74_800, 72_200],
  '@spillway/express/compat': [28_000, 27_100],
  '@spillway/fastify/lean': [54_800, 53_000],
  '@spillway/fastify': [74_700, 72_100],
  '@spillway/fetch/lean': [55_300, 53_600],
  '@spillway/fetch': [75_000, 72_300],
  '@spillway/h3/lean': [55_600, 53_800],
  '@spillway/h3': [75_200, 72_500],
  '@spillway/h3/v1/lean': [55_200, 53_400],
  '@spillway/h3/v1': [74_800, 72_200],
  '@spillway/hono': [75_200, 72_600],
  '@spillway/hono/lean': [55_600, 53_800],
  '@spillway/koa/lean': [54_400, 52_600],
  '@spillway/koa': [74_200, 71_500],
  '@spillway/memory': [42_700, 41_500],
  '@spillway/memory/lean-adapter': [48_400, 46_600],
  '@spillway/memory/lean': [8_000, 7_700],
  '@spillway/memory/adapter': [50_800, 49_000],
  '@spillway/nestjs': [78_500, 75_800],
  '@spillway/nestjs/throttler': [32_200, 31_200],
  '@spillway/node/lean': [54_900, 53_200],
  '@spillway/node': [74_600, 71_900],
  '@spillway/opentelemetry': [4_500, 4_400],
  '@spillway/plans': [10_900, 10_600],
  '@spillway/postgres': [22_700, 22_200],
  '@spillway/redis': [26_600, 26_100],
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
