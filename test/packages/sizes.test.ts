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
  ['a quota', [6_500, 6_400], "export { perMinute } from '@spillway/core'"],
  ['a limiter', [24_000, 23_300], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [33_500, 32_500], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [55_300, 53_600], adapter('hono')],
  ['rateLimit for fetch', [55_100, 53_400], adapter('fetch')],
  ['rateLimit for Express', [54_900, 53_200], adapter('express')],
  ['rateLimit for Node', [54_700, 53_000], adapter('node')],
  ['rateLimit for Koa', [54_200, 52_500], adapter('koa')],
  ['rateLimit for Fastify', [54_700, 52_900], adapter('fastify')],
  ['rateLimit for h3', [55_300, 53_600], adapter('h3')],
  ['rateLimit for h3 1', [54_900, 53_200], adapter('h3/v1')],
  ['rateLimit for Elysia', [55_400, 53_600], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [55_400, 53_700], FEATURES],
  ['a lean quota and store', [6_900, 6_600], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['lean: rateLimit for Hono', [16_400, 15_900], lean('hono')],
  ['lean: rateLimit for fetch', [16_500, 16_000], lean('fetch')],
  ['lean: rateLimit for Express', [16_100, 15_700], lean('express')],
  ['lean: rateLimit for Node', [16_000, 15_600], lean('node')],
  ['lean: rateLimit for Koa', [15_600, 15_200], lean('koa')],
  ['lean: rateLimit for Fastify', [16_000, 15_600], lean('fastify')],
  ['lean: rateLimit for h3', [16_300, 15_900], lean('h3')],
  ['lean: rateLimit for h3 1', [16_300, 15_900], lean('h3/v1')],
  ['lean: rateLimit for Elysia', [16_100, 15_600], lean('elysia')],
  ['lean: Hono with trusted proxies, selectors and match', [23_000, 22_400], LEAN_FEATURES],
  ['lean: a limiter in memory', [8_800, 8_500], LEAN_LIMITER],
  ['rateLimiter over redisStore', [48_900, 46_300], REDIS_LIMITER],
  ['redisStore', [26_700, 24_900], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_800, 6_600],
  '@spillway/cli': [142_700, 139_400],
  '@spillway/cli/browser': [47_400, 46_200],
  '@spillway/cloudflare': [2_700, 2_600],
  '@spillway/cloudflare/object': [6_200, 6_100],
  '@spillway/conformance': [66_500, 64_900],
  '@spillway/core': [45_200, 43_700],
  '@spillway/core/http': [47_200, 45_700],
  '@spillway/core/http/lean': [43_500, 42_100],
  '@spillway/core/internal': [20_100, 19_700],
  '@spillway/core/lean': [21_200, 20_500],
  '@spillway/core/rules': [23_000, 22_600],
  '@spillway/elysia/lean': [53_400, 51_800],
  '@spillway/elysia': [76_400, 73_800],
  '@spillway/express/lean': [52_900, 51_300],
  '@spillway/express': [76_100, 73_500],
  '@spillway/express/compat': [27_800, 27_000],
  '@spillway/fastify/lean': [52_700, 51_000],
  '@spillway/fastify': [75_900, 73_300],
  '@spillway/fetch/lean': [53_200, 51_500],
  '@spillway/fetch': [76_200, 73_600],
  '@spillway/h3/lean': [53_400, 51_700],
  '@spillway/h3': [76_400, 73_800],
  '@spillway/h3/v1/lean': [53_000, 51_300],
  '@spillway/h3/v1': [76_000, 73_400],
  '@spillway/hono': [76_400, 73_800],
  '@spillway/hono/lean': [53_500, 51_800],
  '@spillway/koa/lean': [52_300, 50_600],
  '@spillway/koa': [75_300, 72_700],
  '@spillway/memory': [43_300, 42_100],
  '@spillway/memory/lean-adapter': [47_100, 45_500],
  '@spillway/memory/lean': [7_000, 6_700],
  '@spillway/memory/adapter': [51_600, 49_700],
  '@spillway/nestjs': [79_700, 77_000],
  '@spillway/nestjs/throttler': [32_800, 31_800],
  '@spillway/node/lean': [52_800, 51_100],
  '@spillway/node': [75_800, 73_300],
  '@spillway/opentelemetry': [4_500, 4_400],
  '@spillway/plans': [11_000, 10_700],
  '@spillway/postgres': [24_000, 23_500],
  '@spillway/redis': [26_700, 26_200],
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
