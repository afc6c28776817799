import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { root } from './pack.ts'

// The size that a user's bundle grows by: minified with all imports, and gzipped.

const app = inject('app')

const adapter = (name: string): string =>
  `import { perMinute, rateLimit } from '@spillway/${name}'; export const limit = rateLimit({ quota: perMinute(100) })`

/** The size budget of each use, in bytes. Raise one only if the feature is worth that for every user. */
const uses: readonly [use: string, most: number, code: string][] = [
  ['a quota', 2_900, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 27_000, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 34_100, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 46_900, adapter('hono')],
  ['rateLimit for fetch', 46_900, adapter('fetch')],
  ['rateLimit for Express', 46_200, adapter('express')],
  ['rateLimit for Koa', 46_500, adapter('koa')],
  ['rateLimit for Fastify', 46_500, adapter('fastify')],
  ['rateLimit for h3', 47_000, adapter('h3')],
  ['rateLimit for h3 1', 46_900, adapter('h3/v1')],
  ['rateLimit for Elysia', 47_000, adapter('elysia')],
]

/** The size budget of each entry with all its exports and the packages it needs, in bytes. */
const entries: Readonly<Record<string, number>> = {
  '@spillway/admin': 12_000,
  '@spillway/cli': 124_200,
  '@spillway/cli/browser': 36_900,
  '@spillway/cloudflare': 2_100,
  '@spillway/cloudflare/object': 4_800,
  '@spillway/conformance': 54_300,
  '@spillway/core': 37_100,
  '@spillway/core/http': 39_900,
  '@spillway/core/internal': 12_350,
  '@spillway/core/rules': 10_900,
  '@spillway/elysia': 61_800,
  '@spillway/express': 61_000,
  '@spillway/express/compat': 21_800,
  '@spillway/fastify': 61_300,
  '@spillway/fetch': 61_600,
  '@spillway/h3': 61_800,
  '@spillway/h3/v1': 61_600,
  '@spillway/hono': 61_700,
  '@spillway/koa': 61_300,
  '@spillway/memory': 36_650,
  '@spillway/memory/adapter': 44_100,
  '@spillway/nestjs': 63_800,
  '@spillway/nestjs/throttler': 38_400,
  '@spillway/opentelemetry': 3_900,
  '@spillway/plans': 10_500,
  '@spillway/postgres': 19_500,
  '@spillway/redis': 25_100,
}

/** What is not ours, and not in a bundle unless a package brings it along: clients, and modules of runtimes. */
const THEIRS = ['@nestjs/*', '@opentelemetry/api', 'cloudflare:*', 'commander', 'fast-check', 'ioredis', 'node:*', 'pg']

async function bundle(code: string): Promise<Uint8Array> {
  const stdin = { contents: code, resolveDir: app }
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: THEIRS,
    write: false,
  })
  return (outputFiles[0] as { contents: Uint8Array }).contents
}

async function expectSize(use: string, code: string, most: number): Promise<void> {
  const size = gzipSync(await bundle(code)).length
  process.stdout.write(`${use}: ${size} of ${most} bytes\n`)
  expect(size).toBeLessThanOrEqual(most)
}

test.each(uses)('%s takes at most %i bytes', (use, most, code) => expectSize(use, code, most))

test.each(entriesOf(app))('all of $specifier takes no more than it may', ({ specifier }) =>
  expectSize(`all of ${specifier}`, `export * from '${specifier}'`, entries[specifier] as number),
)

test.each(entriesOf(app))('nothing is left of $specifier where nothing of it is used', async ({ specifier }) => {
  expect((await bundle(`import '${specifier}'`)).length).toBe(0)
})

test('the README states the size of the largest adapter', () => {
  const most = Math.max(...uses.map(([, bytes]) => bytes))
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(
    `takes at most ${most / 1000} kB of a bundle, gzipped`,
  )
})
