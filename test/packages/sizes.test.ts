import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { adapter, bundleOf, sizeByRolldown } from './bundle.ts'
import { root } from './pack.ts'

// The size that a user's bundle grows by, with esbuild and with rolldown: minified with all imports, and gzipped.

const app = inject('app')

/** The size budget of each use, in bytes. Raise one only if the feature is worth that for every user. */
const uses: readonly [use: string, most: number, code: string][] = [
  ['a quota', 6_200, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 21_000, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 31_600, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 45_600, adapter('hono')],
  ['rateLimit for fetch', 45_500, adapter('fetch')],
  ['rateLimit for Express', 44_600, adapter('express')],
  ['rateLimit for Node', 45_600, adapter('node')],
  ['rateLimit for Koa', 45_000, adapter('koa')],
  ['rateLimit for Fastify', 45_500, adapter('fastify')],
  ['rateLimit for h3', 45_600, adapter('h3')],
  ['rateLimit for h3 1', 45_500, adapter('h3/v1')],
  ['rateLimit for Elysia', 45_800, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_700,
  '@spillway/cli': 133_300,
  '@spillway/cli/browser': 43_000,
  '@spillway/cloudflare': 2_400,
  '@spillway/cloudflare/object': 5_500,
  '@spillway/conformance': 56_200,
  '@spillway/core': 38_800,
  '@spillway/core/http': 35_000,
  '@spillway/core/internal': 11_100,
  '@spillway/core/rules': 18_800,
  '@spillway/elysia': 65_000,
  '@spillway/express': 63_900,
  '@spillway/express/compat': 22_400,
  '@spillway/fastify': 64_800,
  '@spillway/fetch': 64_700,
  '@spillway/h3': 64_900,
  '@spillway/h3/v1': 64_700,
  '@spillway/hono': 64_900,
  '@spillway/koa': 64_300,
  '@spillway/memory': 37_900,
  '@spillway/memory/adapter': 46_100,
  '@spillway/nestjs': 68_300,
  '@spillway/nestjs/throttler': 38_700,
  '@spillway/node': 64_900,
  '@spillway/opentelemetry': 4_200,
  '@spillway/plans': 10_700,
  '@spillway/postgres': 20_700,
  '@spillway/redis': 25_200,
}

async function expectSize(use: string, code: string, most: number): Promise<void> {
  const sizes = [(await bundleOf(app, code)).size, await sizeByRolldown(app, code)]
  process.stdout.write(`${use}: ${sizes.join(' and ')} of ${most} bytes\n`)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(most)
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
