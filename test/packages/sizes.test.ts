import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { adapter, bundleOf } from './bundle.ts'
import { root } from './pack.ts'

// The size that a user's bundle grows by: minified with all imports, and gzipped.

const app = inject('app')

/** The size budget of each use, in bytes. Raise one only if the feature is worth that for every user. */
const uses: readonly [use: string, most: number, code: string][] = [
  ['a quota', 6_200, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 20_400, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 31_100, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 45_000, adapter('hono')],
  ['rateLimit for fetch', 44_900, adapter('fetch')],
  ['rateLimit for Express', 44_000, adapter('express')],
  ['rateLimit for Koa', 44_400, adapter('koa')],
  ['rateLimit for Fastify', 44_800, adapter('fastify')],
  ['rateLimit for h3', 45_000, adapter('h3')],
  ['rateLimit for h3 1', 44_800, adapter('h3/v1')],
  ['rateLimit for Elysia', 45_200, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_600,
  '@spillway/cli': 131_100,
  '@spillway/cli/browser': 42_700,
  '@spillway/cloudflare': 2_050,
  '@spillway/cloudflare/object': 4_900,
  '@spillway/conformance': 55_600,
  '@spillway/core': 38_100,
  '@spillway/core/http': 34_500,
  '@spillway/core/internal': 10_600,
  '@spillway/core/rules': 18_400,
  '@spillway/elysia': 64_400,
  '@spillway/express': 63_200,
  '@spillway/express/compat': 22_300,
  '@spillway/fastify': 63_900,
  '@spillway/fetch': 64_000,
  '@spillway/h3': 64_100,
  '@spillway/h3/v1': 63_900,
  '@spillway/hono': 64_100,
  '@spillway/koa': 63_500,
  '@spillway/memory': 37_400,
  '@spillway/memory/adapter': 45_400,
  '@spillway/nestjs': 67_200,
  '@spillway/nestjs/throttler': 38_200,
  '@spillway/opentelemetry': 4_000,
  '@spillway/plans': 10_600,
  '@spillway/postgres': 20_100,
  '@spillway/redis': 24_600,
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
