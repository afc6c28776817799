import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { bundleOf } from './bundle.ts'
import { root } from './pack.ts'

// The size that a user's bundle grows by: minified with all imports, and gzipped.

const app = inject('app')

const adapter = (name: string): string =>
  `import { perMinute, rateLimit } from '@spillway/${name}'; export const limit = rateLimit({ quota: perMinute(100) })`

/** The size budget of each use, in bytes. Raise one only if the feature is worth that for every user. */
const uses: readonly [use: string, most: number, code: string][] = [
  ['a quota', 6_200, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 20_000, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 30_700, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 43_800, adapter('hono')],
  ['rateLimit for fetch', 43_800, adapter('fetch')],
  ['rateLimit for Express', 43_100, adapter('express')],
  ['rateLimit for Koa', 43_400, adapter('koa')],
  ['rateLimit for Fastify', 43_700, adapter('fastify')],
  ['rateLimit for h3', 43_900, adapter('h3')],
  ['rateLimit for h3 1', 43_700, adapter('h3/v1')],
  ['rateLimit for Elysia', 44_100, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_550,
  '@spillway/cli': 125_700,
  '@spillway/cli/browser': 40_600,
  '@spillway/cloudflare': 2_050,
  '@spillway/cloudflare/object': 4_850,
  '@spillway/conformance': 54_300,
  '@spillway/core': 37_200,
  '@spillway/core/http': 33_200,
  '@spillway/core/internal': 10_300,
  '@spillway/core/rules': 18_300,
  '@spillway/elysia': 62_600,
  '@spillway/express': 61_500,
  '@spillway/express/compat': 22_200,
  '@spillway/fastify': 62_100,
  '@spillway/fetch': 62_200,
  '@spillway/h3': 62_300,
  '@spillway/h3/v1': 62_100,
  '@spillway/hono': 62_200,
  '@spillway/koa': 61_800,
  '@spillway/memory': 36_900,
  '@spillway/memory/adapter': 44_400,
  '@spillway/nestjs': 65_000,
  '@spillway/nestjs/throttler': 37_700,
  '@spillway/opentelemetry': 3_900,
  '@spillway/plans': 10_600,
  '@spillway/postgres': 19_600,
  '@spillway/redis': 23_500,
}

async function expectSize(use: string, code: string, most: number): Promise<void> {
  const { size } = await bundleOf(app, code)
  process.stdout.write(`${use}: ${size} of ${most} bytes\n`)
  expect(size).toBeLessThanOrEqual(most)
}

test.each(uses)('%s takes at most %i bytes', (use, most, code) => expectSize(use, code, most))

test.each(entriesOf(app))('all of $specifier takes no more than it may', ({ specifier }) =>
  expectSize(`all of ${specifier}`, `export * from '${specifier}'`, entries[specifier] as number),
)

test.each(entriesOf(app))('nothing is left of $specifier where nothing of it is used', async ({ specifier }) => {
  expect((await bundleOf(app, `import '${specifier}'`)).text).toBe('')
})

test('the README states the size of the largest adapter', () => {
  const most = Math.max(...uses.map(([, bytes]) => bytes))
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(
    `takes at most ${most / 1000} kB of a bundle, gzipped`,
  )
})
