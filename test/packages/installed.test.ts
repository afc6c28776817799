import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { installed } from './app.ts'
import { loadedBy } from './bundle.ts'

// What `npm install` brings of ours. These budgets only fall.

const app = inject('app')
const tarballs = inject('tarballs')

const sizesIn = (name: string): readonly number[] => {
  const folder = installed(app, name)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => statSync(join(parentPath, name)).size)
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0)

/** The most files, their bytes, and those of the tarball. */
const budgets: Readonly<Record<string, readonly [files: number, bytes: number, tarball: number]>> = {
  admin: [8, 48_700, 11_200],
  cli: [15, 417_400, 129_000],
  client: [16, 65_000, 13_400],
  cloudflare: [14, 29_600, 8_000],
  conformance: [8, 401_400, 90_800],
  core: [36, 1_060_900, 277_200],
  elysia: [16, 32_000, 7_600],
  express: [20, 104_000, 19_200],
  fastify: [16, 27_000, 6_400],
  fetch: [16, 31_000, 7_400],
  h3: [29, 56_000, 10_700],
  hono: [16, 32_000, 7_500],
  koa: [16, 25_000, 6_100],
  memory: [28, 127_000, 22_400],
  nestjs: [14, 128_800, 23_000],
  node: [16, 22_000, 5_600],
  opentelemetry: [8, 38_500, 8_100],
  plans: [8, 29_800, 7_000],
  postgres: [8, 204_600, 55_900],
  redis: [16, 193_000, 49_000],
  shed: [44, 129_000, 22_700],
  sqlite: [8, 20_000, 5_500],
  stores: [12, 70_000, 13_400],
}

test.each(Object.entries(budgets))('@spillway/%s installs few files', (name, [files, bytes, tarball]) => {
  const sizes = sizesIn(name)
  const found = [sizes.length, sum(sizes), statSync(tarballs[name] as string).size]
  process.stdout.write(`${name}: ${found.join(', ')}\n`)
  expect(found[0], 'files').toBeLessThanOrEqual(files)
  expect(found[1], 'bytes').toBeLessThanOrEqual(bytes)
  expect(found[2], 'bytes of the tarball').toBeLessThanOrEqual(tarball)
})

test('every package has a budget', () => {
  expect(Object.keys(budgets).sort()).toEqual(Object.keys(tarballs).sort())
})

test('an app with Express gets at most 120 files and 1.6 MB', () => {
  const sizes = ['express', 'core', 'memory'].flatMap(sizesIn)
  expect(sizes.length).toBeLessThanOrEqual(120)
  expect(sum(sizes)).toBeLessThanOrEqual(1_600_000)
})

/** The most files, and their bytes, that an `import` loads. `npm run bench -- start` measures how long that takes. */
const loads: Readonly<Record<string, readonly [files: number, bytes: number]>> = {
  express: [11, 424_500],
  fastify: [11, 428_600],
  hono: [11, 429_100],
  koa: [11, 427_700],
  memory: [6, 297_600],
  node: [11, 423_900],
}

test.each(Object.entries(loads))('@spillway/%s loads few files', async (name, [files, bytes]) => {
  const found = await loadedBy(app, `@spillway/${name}`)
  process.stdout.write(`${name}: loads ${found.join(', ')}\n`)
  expect(found[0], 'files').toBeLessThanOrEqual(files)
  expect(found[1], 'bytes').toBeLessThanOrEqual(bytes)
})
