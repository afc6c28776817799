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
  ['a limiter', [23_400, 22_600], "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', [34_800, 33_700], "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', [53_500, 51_900], adapter('hono')],
  ['rateLimit for fetch', [53_400, 51_700], adapter('fetch')],
  ['rateLimit for Express', [53_200, 51_500], adapter('express')],
  ['rateLimit for Node', [53_000, 51_300], adapter('node')],
  ['rateLimit for Koa', [52_500, 50_900], adapter('koa')],
  ['rateLimit for Fastify', [52_900, 51_300], adapter('fastify')],
  ['rateLimit for h3', [53_700, 52_000], adapter('h3')],
  ['rateLimit for h3 1', [53_200, 51_500], adapter('h3/v1')],
  ['rateLimit for Elysia', [53_600, 51_900], adapter('elysia')],
  ['Hono with trusted proxies, selectors and match', [53_600, 51_900], FEATURES],
  ['rateLimiter over redisStore', [48_500, 45_800], REDIS_LIMITER],
  ['redisStore', [26_300, 24_500], "export { redisStore } from '@spillway/redis'"],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, Sizes>> = {
  '@spillway/admin': [6_700, 6_500],
  '@spillway/cli': [138_600, 135_400],
  '@spillway/cli/browser': [45_800, 44_700],
  '@spillway/cloudflare': [2_600, 2_500],
  '@spillway/cloudflare/object': [6_100, 6_100],
  '@spillway/conformance': [62_500, 60_900],
  '@spillway/core': [41_900, 40_400],
  '@spillway/core/http': [43_200, 41_900],
  '@spillway/core/internal': [19_100, 18_700],
  '@spillway/core/rules': [19_900, 19_700],
  '@spillway/elysia': [71_900, 69_300],
  '@spillway/express': [71_500, 68_900],
  '@spillway/express/compat': [27_900, 27_200],
  '@spillway/fastify': [71_200, 68_700],
  '@spillway/fetch': [71_700, 69_100],
  '@spillway/h3': [71_900, 69_300],
  '@spillway/h3/v1': [71_400, 68_900],
  '@spillway/hono': [71_800, 69_300],
  '@spillway/koa': [70_700, 68_200],
  '@spillway/memory': [41_700, 40_500],
  '@spillway/memory/adapter': [49_900, 48_000],
  '@spillway/nestjs': [75_100, 72_500],
  '@spillway/nestjs/throttler': [31_000, 30_100],
  '@spillway/node': [71_200, 68_700],
  '@spillway/opentelemetry': [4_400, 4_300],
  '@spillway/plans': [10_800, 10_600],
  '@spillway/postgres': [22_500, 22_100],
  '@spillway/redis': [26_300, 25_800],
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
