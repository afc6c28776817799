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
  ['a quota', 6_250, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 20_000, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 30_600, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 43_300, adapter('hono')],
  ['rateLimit for fetch', 43_300, adapter('fetch')],
  ['rateLimit for Express', 42_600, adapter('express')],
  ['rateLimit for Koa', 42_900, adapter('koa')],
  ['rateLimit for Fastify', 43_000, adapter('fastify')],
  ['rateLimit for h3', 43_400, adapter('h3')],
  ['rateLimit for h3 1', 43_200, adapter('h3/v1')],
  ['rateLimit for Elysia', 43_400, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_600,
  '@spillway/cli': 124_300,
  '@spillway/cli/browser': 39_500,
  '@spillway/cloudflare': 2_100,
  '@spillway/cloudflare/object': 4_850,
  '@spillway/conformance': 54_300,
  '@spillway/core': 37_100,
  '@spillway/core/http': 32_700,
  '@spillway/core/internal': 10_400,
  '@spillway/core/rules': 18_400,
  '@spillway/elysia': 61_800,
  '@spillway/express': 61_000,
  '@spillway/express/compat': 21_950,
  '@spillway/fastify': 61_300,
  '@spillway/fetch': 61_600,
  '@spillway/h3': 61_800,
  '@spillway/h3/v1': 61_600,
  '@spillway/hono': 61_700,
  '@spillway/koa': 61_300,
  '@spillway/memory': 36_650,
  '@spillway/memory/adapter': 44_150,
  '@spillway/nestjs': 63_800,
  '@spillway/nestjs/throttler': 37_550,
  '@spillway/opentelemetry': 3_900,
  '@spillway/plans': 10_500,
  '@spillway/postgres': 19_500,
  '@spillway/redis': 23_400,
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
