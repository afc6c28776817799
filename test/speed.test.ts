import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleCases, compare } from '../bench/speed/compare.ts'
import { checkout, root } from '../bench/speed/revision.ts'
import { sizesOf } from '../bench/speed/sizes.ts'
import { typeCostOf } from '../bench/speed/types.ts'

// `npm run speed -- --check` tests how small a slow-down is found; here are the parts that do not depend on the machine.

const folder = mkdtempSync(join(tmpdir(), 'spillway-speed-'))
let sources: string
let bundles: readonly [base: string, head: string]

beforeAll(async () => {
  sources = checkout('HEAD', join(folder, 'base'))
  bundles = [await bundleCases(sources, folder, 'base'), await bundleCases(root, folder, 'head')]
})
afterAll(() => rmSync(folder, { recursive: true }))

const once = { seconds: 0.01, pairs: 1 }

test('a case that does ten times the work is far slower', async () => {
  const { median } = await compare(...bundles, 'one hot key', { ...once, slowdown: 9 })
  expect(median).toBeGreaterThan(2)
})

test('an unknown case fails', async () => {
  await expect(compare(...bundles, 'no such case', once)).rejects.toThrow('ended without a result')
})

test('sizes are those of the sources in the folder', async () => {
  const sizes = await sizesOf(sources)
  expect(sizes.get('rateLimit')).toBeGreaterThan(sizes.get('perMinute') as number)
})

test('the cost of types is counted', () => {
  const { Types: types, Instantiations: instantiations } = typeCostOf(sources)
  expect(types).toBeGreaterThan(1_000)
  expect(instantiations).toBeGreaterThan(1_000)
})
