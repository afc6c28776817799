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
  ['a quota', 6_800, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 23_400, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 34_900, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 53_500, adapter('hono')],
  ['rateLimit for fetch', 53_400, adapter('fetch')],
  ['rateLimit for Express', 53_200, adapter('express')],
  ['rateLimit for Node', 53_000, adapter('node')],
  ['rateLimit for Koa', 52_600, adapter('koa')],
  ['rateLimit for Fastify', 52_900, adapter('fastify')],
  ['rateLimit for h3', 53_700, adapter('h3')],
  ['rateLimit for h3 1', 53_200, adapter('h3/v1')],
  ['rateLimit for Elysia', 53_600, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 6_700,
  '@spillway/cli': 138_600,
  '@spillway/cli/browser': 45_900,
  '@spillway/cloudflare': 2_600,
  '@spillway/cloudflare/object': 6_100,
  '@spillway/conformance': 62_500,
  '@spillway/core': 41_900,
  '@spillway/core/http': 43_200,
  '@spillway/core/internal': 19_100,
  '@spillway/core/rules': 19_900,
  '@spillway/elysia': 71_900,
  '@spillway/express': 71_500,
  '@spillway/express/compat': 27_900,
  '@spillway/fastify': 71_200,
  '@spillway/fetch': 71_700,
  '@spillway/h3': 71_900,
  '@spillway/h3/v1': 71_500,
  '@spillway/hono': 71_800,
  '@spillway/koa': 70_700,
  '@spillway/memory': 41_700,
  '@spillway/memory/adapter': 49_900,
  '@spillway/nestjs': 75_100,
  '@spillway/nestjs/throttler': 31_000,
  '@spillway/node': 71_200,
  '@spillway/opentelemetry': 4_400,
  '@spillway/plans': 10_800,
  '@spillway/postgres': 22_500,
  '@spillway/redis': 26_300,
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
