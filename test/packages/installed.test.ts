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
  admin: [8, 46_000, 10_500],
  cli: [15, 399_000, 124_000],
  cloudflare: [14, 30_100, 8_100],
  conformance: [8, 409_000, 88_700],
  core: [32, 1_033_000, 283_500],
  elysia: [16, 32_000, 7_900],
  express: [20, 105_000, 23_800],
  fastify: [16, 27_000, 6_600],
  fetch: [16, 32_000, 7_400],
  h3: [29, 57_000, 10_800],
  hono: [16, 31_500, 7_700],
  koa: [16, 24_000, 6_200],
  memory: [24, 92_000, 16_000],
  nestjs: [14, 131_000, 31_900],
  node: [16, 21_000, 5_700],
  opentelemetry: [8, 31_000, 7_100],
  plans: [8, 30_100, 7_100],
  postgres: [8, 207_000, 57_600],
  redis: [16, 187_000, 47_800],
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
  express: [10, 418_000],
  fastify: [10, 422_000],
  hono: [10, 422_000],
  koa: [10, 421_000],
  memory: [5, 287_000],
  node: [10, 417_000],
}

test.each(Object.entries(loads))('@spillway/%s loads few files', async (name, [files, bytes]) => {
  const found = await loadedBy(app, `@spillway/${name}`)
  process.stdout.write(`${name}: loads ${found.join(', ')}\n`)
  expect(found[0], 'files').toBeLessThanOrEqual(files)
  expect(found[1], 'bytes').toBeLessThanOrEqual(bytes)
})
