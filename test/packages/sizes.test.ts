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

const FEATURES = `import { perMinute, rateLimit } from '@spillway/hono'
export const limit = rateLimit({ quota: perMinute(100), trustProxy: 1, key: 'header:x-api-key', match: { path: '/login' } })`
const REDIS_LIMITER = `import { perMinute, rateLimiter } from '@spillway/core'
import { redisStore } from '@spillway/redis'
export const limiterOf = (client) => rateLimiter({ quota: perMinute(100), store: redisStore(client) })`

/** The size budget of each use, in bytes: budgets only fall. */
const uses: readonly [use: string, most: Sizes, code: string][] = [
  ['a quota', [6_800, 6_700], "export { perMinute } from '@spillway/core'"],
  ['a limiter', [23_700, 22_900], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [35_100, 34_000], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [56_200, 54_500], adapter('hono')],
  ['rateLimit for fetch', [56_000, 54_300], adapter('fetch')],
  ['rateLimit for Express', [55_900, 54_100], adapter('express')],
  ['rateLimit for Node', [55_600, 53_900], adapter('node')],
  ['rateLimit for Koa', [55_200, 53_500], adapter('koa')],
  ['rateLimit for Fastify', [55_700, 54_000], adapter('fastify')],
  ['rateLimit for h3', [56_300, 54_600], adapter('h3')],
  ['rateLimit for h3 1', [55_900, 54_200], adapter('h3/v1')],
  ['rateLimit for Elysia', [56_300, 54_600], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [56_200, 54_500], FEATURES],
  ['a lean quota and store', [8_000, 7_800], "export { memoryStore, perMinute } from '@spillway/memory/lean'"],
  ['rateLimiter over redisStore', [48_900, 46_300], REDIS_LIMITER],
  ['redisStore', [26_500, 24_600], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_700, 6_500],
  '@spillway/cli': [139_600, 136_500],
  '@spillway/cli/browser': [45_900, 44_700],
  '@spillway/cloudflare': [2_700, 2_500],
  '@spillway/cloudflare/object': [6_100, 6_100],
  '@spillway/conformance': [62_900, 61_400],
  '@spillway/core': [42_200, 40_800],
  '@spillway/core/http': [46_200, 44_700],
  '@spillway/core/internal': [19_900, 19_400],
  '@spillway/core/lean': [21_800, 21_200],
  '@spillway/core/rules': [19_900, 19_700],
  '@spillway/elysia': [74_300, 71_800],
  '@spillway/express': [73_700, 71_300],
  '@spillway/express/compat': [27_400, 26_700],
  '@spillway/fastify': [73_800, 71_400],
  '@spillway/fetch': [73_900, 71_500],
  '@spillway/h3': [74_200, 71_700],
  '@spillway/h3/v1': [73_800, 71_300],
  '@spillway/hono': [74_100, 71_700],
  '@spillway/koa': [73_100, 70_600],
  '@spillway/memory': [42_000, 40_900],
  '@spillway/memory/lean': [8_000, 7_800],
  '@spillway/memory/adapter': [50_100, 48_400],
  '@spillway/nestjs': [77_700, 75_200],
  '@spillway/nestjs/throttler': [31_900, 30_900],
  '@spillway/node': [73_500, 71_100],
  '@spillway/opentelemetry': [4_500, 4_300],
  '@spillway/plans': [10_900, 10_600],
  '@spillway/postgres': [22_600, 22_100],
  '@spillway/redis': [26_500, 26_000],
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
