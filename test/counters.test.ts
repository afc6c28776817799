import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Counted, type Counts, countAll } from './counters/counted.ts'
import { bundleOf } from './packages/bundle.ts'
import { root } from './packages/pack.ts'

// How much code is on the way of a request, and how much of it runs. These budgets may only fall: each is what was last
// measured. For what is counted in each place, run with COUNTERS=all.

const print = (line: string): unknown => process.stdout.write(`${line}\n`)

const works: readonly [work: string, most: Counts][] = [
  ['Express, memory, allowed', { call: 45, closure: 2, object: 10 }],
  ['Express, memory, denied', { call: 59, closure: 4, object: 14 }],
  ['Express, Redis, allowed', { call: 102, closure: 13, object: 23 }],
  ['Koa, memory, allowed', { call: 51, closure: 4, object: 10 }],
  ['Hono, memory, allowed', { call: 66, closure: 9, object: 11 }],
  ['consumeSync, allowed', { call: 11, closure: 0, object: 1 }],
]

describe('what our own functions do, warm', () => {
  let counted: Readonly<Record<string, Counted>>
  beforeAll(async () => {
    counted = await countAll(works.map(([work]) => work))
  })

  test.each(works)('%s', (work, most) => {
    const { counts, sites } = counted[work] as Counted
    print(`${work}: ${JSON.stringify(counts)}`)
    if (process.env['COUNTERS'] === 'all') {
      for (const { kind, file, code, count } of sites) print(`  ${count} × ${kind} ${file}: ${code}`)
    }
    expect(counts.call).toBeGreaterThan(0)
    expect(counts.call).toBeLessThanOrEqual(most.call)
    expect(counts.closure).toBeLessThanOrEqual(most.closure)
    expect(counts.object).toBeLessThanOrEqual(most.object)
  })
})

const HONO = `import { perMinute, rateLimit } from '@spillway/hono'; export const limit = rateLimit({ quota: perMinute(100) })`
const LEAN = `import { rateLimiter } from '@spillway/core/lean'; import { memoryStore, perMinute } from '@spillway/memory/lean'; export const limiter = rateLimiter({ quota: perMinute(100), store: memoryStore() })`
const LIMITER = `import { perMinute, rateLimiter } from '@spillway/memory'; export const limiter = rateLimiter({ quota: perMinute(100) })`

/** What is in a bundle of each plain use, before anything is executed. */
const plain: readonly [use: string, modules: number, lines: number, code: string][] = [
  ['rateLimit for Hono', 205, 14_240, HONO],
  ['rateLimit for Hono, lean', 70, 4_820, HONO.replace('hono', 'hono/lean')],
  ['rateLimiter in memory, lean', 38, 2_570, LEAN],
  ['rateLimiter in memory', 125, 8_970, LIMITER],
]

test.each(plain)('%s needs at most %i modules, of %i lines', async (use, mostModules, mostLines, code) => {
  const { modules } = await bundleOf(join(root, 'test'), code)
  const files = Object.entries(modules).filter(([path, bytes]) => bytes > 0 && path !== '<stdin>')
  const lines = files.map(([path]) => readFileSync(path, 'utf8').split('\n').length - 1)
  const total = lines.reduce((sum, each) => sum + each, 0)
  print(`${use}: ${files.length} modules, ${total} lines`)
  expect(files.length).toBeLessThanOrEqual(mostModules)
  expect(total).toBeLessThanOrEqual(mostLines)
})

test('the folders of core have at most 85 arrows between them', () => {
  const source = join(root, 'packages/core/src')
  const folderOf = (path: string): string => path.split('/')[0] as string
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    // Files beside the folders are entries.
    .filter((file) => file.endsWith('.ts') && file.includes('/'))
  const arrows = new Set(
    files.flatMap((file) =>
      [...readFileSync(join(source, file), 'utf8').matchAll(/ from '(\..+)'$/gm)]
        .map(([, to = '']) => folderOf(normalize(join(dirname(file), to)).replaceAll('\\', '/')))
        .filter((to) => to !== folderOf(file))
        .map((to) => `${folderOf(file)} → ${to}`),
    ),
  )
  print(`${new Set(files.map(folderOf)).size} folders, ${arrows.size} arrows`)
  expect(arrows.size).toBeGreaterThan(0)
  expect(arrows.size).toBeLessThanOrEqual(85)
})
