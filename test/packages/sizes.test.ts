import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, inject, test } from 'vitest'
import { entriesOf } from './app.ts'
import { root } from './pack.ts'

// What a user's bundle grows by: minified, with all that is imported along, and gzipped.

const app = inject('app')

const adapter = (name: string): string =>
  `import { perMinute, rateLimit } from '@spillway/${name}'; export const limit = rateLimit({ quota: perMinute(100) })`

/** The most bytes that each use may take. Raise one knowingly, where what it buys is worth that to everybody. */
const uses: readonly [use: string, most: number, code: string][] = [
  ['a quota', 2_000, "export { perMinute } from '@spillway/core'"],
  ['a limiter', 7_500, "export { rateLimiter } from '@spillway/core'"],
  ['a limiter in memory', 11_000, "export { perMinute, rateLimiter } from '@spillway/memory'"],
  ['rateLimit for Hono', 18_000, adapter('hono')],
  ['rateLimit for fetch', 18_000, adapter('fetch')],
  ['rateLimit for Express', 18_000, adapter('express')],
  ['rateLimit for Koa', 18_000, adapter('koa')],
  ['rateLimit for Fastify', 18_000, adapter('fastify')],
]

async function bundle(code: string): Promise<Uint8Array> {
  const stdin = { contents: code, resolveDir: app }
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: ['cloudflare:*'],
    write: false,
  })
  return (outputFiles[0] as { contents: Uint8Array }).contents
}

test.each(uses)('%s takes at most %i bytes', async (use, most, code) => {
  const size = gzipSync(await bundle(code)).length
  process.stdout.write(`${use}: ${size} of ${most} bytes\n`)
  expect(size).toBeLessThanOrEqual(most)
})

test.each(entriesOf(app))('nothing is left of $specifier where nothing of it is used', async ({ specifier }) => {
  expect((await bundle(`import '${specifier}'`)).length).toBe(0)
})

test('the README tells the most that an adapter takes', () => {
  const most = Math.max(...uses.map(([, bytes]) => bytes))
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(
    `takes at most ${most / 1000} kB of a bundle, gzipped`,
  )
})
