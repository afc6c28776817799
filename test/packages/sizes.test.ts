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
  ['a limiter', 20_800, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 31_500, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 45_300, adapter('hono')],
  ['rateLimit for fetch', 45_200, adapter('fetch')],
  ['rateLimit for Express', 44_300, adapter('express')],
  ['rateLimit for Koa', 44_600, adapter('koa')],
  ['rateLimit for Fastify', 45_300, adapter('fastify')],
  ['rateLimit for h3', 45_300, adapter('h3')],
  ['rateLimit for h3 1', 45_100, adapter('h3/v1')],
  ['rateLimit for Elysia', 45_500, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_600,
  '@spillway/cli': 132_300,
  '@spillway/cli/browser': 42_700,
  '@spillway/cloudflare': 2_050,
  '@spillway/cloudflare/object': 4_900,
  '@spillway/conformance': 56_000,
  '@spillway/core': 38_600,
  '@spillway/core/http': 34_700,
  '@spillway/core/internal': 11_000,
  '@spillway/core/rules': 18_600,
  '@spillway/elysia': 64_700,
  '@spillway/express': 63_600,
  '@spillway/express/compat': 22_300,
  '@spillway/fastify': 64_500,
  '@spillway/fetch': 64_400,
  '@spillway/h3': 64_500,
  '@spillway/h3/v1': 64_300,
  '@spillway/hono': 64_500,
  '@spillway/koa': 63_800,
  '@spillway/memory': 37_800,
  '@spillway/memory/adapter': 45_900,
  '@spillway/nestjs': 67_500,
  '@spillway/nestjs/throttler': 38_600,
  '@spillway/opentelemetry': 4_000,
  '@spillway/plans': 10_600,
  '@spillway/postgres': 20_500,
  '@spillway/redis': 24_800,
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
