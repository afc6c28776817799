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
  admin: [8, 47_000, 10_900],
  cli: [16, 426_000, 130_500],
  cloudflare: [14, 31_000, 8_200],
  conformance: [8, 352_000, 73_900],
  core: [46, 1_010_000, 264_000],
  elysia: [8, 22_000, 5_800],
  express: [12, 97_000, 20_800],
  fastify: [8, 20_000, 5_100],
  fetch: [8, 22_000, 5_400],
  h3: [12, 38_000, 8_000],
  hono: [8, 19_000, 5_200],
  koa: [8, 17_000, 4_600],
  memory: [16, 92_000, 21_800],
  nestjs: [12, 131_000, 31_700],
  opentelemetry: [8, 33_000, 7_300],
  plans: [8, 32_000, 7_300],
  postgres: [8, 176_000, 50_400],
  redis: [8, 146_000, 41_700],
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
  express: [16, 365_000],
  fastify: [16, 365_000],
  hono: [16, 365_000],
  koa: [16, 365_000],
  memory: [12, 260_000],
}

test.each(Object.entries(loads))('@spillway/%s loads few files', async (name, [files, bytes]) => {
  const found = await loadedBy(app, `@spillway/${name}`)
  process.stdout.write(`${name}: loads ${found.join(', ')}\n`)
  expect(found[0], 'files').toBeLessThanOrEqual(files)
  expect(found[1], 'bytes').toBeLessThanOrEqual(bytes)
})
