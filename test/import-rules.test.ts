import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { features, neighbours, ruleOf } from '../.dependency-cruiser.mjs'

// A small tree of wrong imports, and some right ones, is put before the real rules.

const root = fileURLToPath(new URL('..', import.meta.url))
const npm = [
  '@nestjs/common',
  'express',
  'koa',
  'hono',
  'fastify',
  'h3',
  'elysia',
  'lru-cache',
  'fast-check',
  'vitest',
  'left-pad',
  'ioredis',
  'pg',
]

/** Each file has one import and breaks the rules named, all of them and no other. */
const files: [path: string, code: string, broken: string[]][] = [
  ['packages/core/src/good.ts', "import './index.ts'", []],
  ['packages/core/src/npm.ts', "import 'left-pad'", ['core-imports']],
  ['packages/core/src/npm-type.ts', "import type { a } from 'left-pad'", ['core-imports']],
  ['packages/core/src/node.ts', "import 'node:fs'", ['core-imports']],
  ['packages/core/src/bare-node.ts', "import type { a } from 'fs'", ['core-imports']],
  ['packages/core/src/memory.ts', "import '@spillway/memory'", ['core-imports']],
  ['packages/core/src/missing.ts', "import 'not-installed'", ['core-imports', 'no-unresolvable']],
  ['packages/core/src/test.ts', "import '../test/helper.ts'", ['core-imports']],
  ['packages/core/src/up.ts', "import type { a } from './http/index.ts'", ['http-on-top']],
  ['packages/core/src/http/down.ts', "import '../index.ts'", ['core-http']],
  ...Object.entries(neighbours).flatMap(([root, folders]) =>
    Object.entries(folders).flatMap(([name, known]): typeof files => [
      [`${root}/${name}/target.ts`, 'export const a = 1', []],
      ...known.map((each): (typeof files)[number] => [
        `${root}/${name}/${each}.ts`,
        `import '../${each}/target.ts'`,
        root.endsWith('/src') && name === 'http' && each === 'features' ? ['features-on-top'] : [],
      ]),
      ...Object.keys(folders)
        .filter((each) => ![name, 'http', 'features', ...known].includes(each))
        .map((each): (typeof files)[number] => [
          `${root}/${name}/not-${each}.ts`,
          `import '../${each}/target.ts'`,
          [ruleOf(root, name)],
        ]),
    ]),
  ),
  ['packages/core/src/http/lean.ts', "import '../features/target.ts'", []],
  ['packages/core/src/wrappers/entry.ts', "import '../lean.ts'", ['core-wrappers']],
  ['packages/core/src/lean.ts', 'export const a = 1', []],
  ['packages/core/src/algorithms/common.ts', 'export const a = 1', []],
  ['packages/core/src/algorithms/bucket/target.ts', "import '../common.ts'", []],
  ['packages/core/src/algorithms/one.ts', "import './bucket/target.ts'", ['algorithms-apart']],
  ...Object.entries(features).flatMap(([name, needs]): typeof files => [
    [`packages/core/src/features/${name}/target.ts`, 'export const a = 1', []],
    ...needs.map((each, i): (typeof files)[number] => [
      `packages/core/src/features/${name}/need-${i}.ts`,
      `import '../${each}/target.ts'`,
      [],
    ]),
    [
      `packages/core/src/features/${name}/other.ts`,
      `import '../${Object.keys(features).find((each) => each !== name && !needs.includes(each))}/target.ts'`,
      [`feature-${name}`],
    ],
  ]),
  ['packages/core/src/http/pipeline/feature.ts', "import '../../features/costs/target.ts'", ['features-on-top']],
  ['packages/core/src/features/costs/pipeline.ts', "import '../../http/pipeline/target.ts'", []],
  ['packages/core/src/limiter/lean-limiter.ts', "import './by-a-detour.ts'", ['lean-without-remote']],
  ['packages/core/src/limiter/by-a-detour.ts', "import '../remote/target.ts'", []],
  ['packages/redis/src/lean-store.ts', "import './by-a-detour.ts'", ['lean-redis-without-features']],
  ['packages/redis/src/by-a-detour.ts', "import './layers.ts'", []],
  ['packages/redis/src/layers.ts', 'export const a = 1', []],
  ['packages/core/src/ring-a.ts', "import type { a } from './ring-b.ts'", ['no-cycles']],
  ['packages/core/src/ring-b.ts', "import type { a } from './ring-a.ts'", []], // reported once, where it starts
  ['packages/core/test/helper.ts', "import '@spillway/conformance'", []],
  ['packages/core/test/vitest.ts', "import 'vitest'", []],
  ['packages/core/test/property.ts', "import 'fast-check'", []],
  ['packages/memory/src/core.ts', "import '@spillway/core'", []],
  ['packages/memory/src/lru.ts', "import 'lru-cache'", ['memory-imports']],
  ['packages/memory/src/node.ts', "import 'node:fs'", ['memory-imports']],
  ['packages/memory/src/adapter.ts', "import '@spillway/express'", ['memory-imports']],
  ['packages/memory/src/path.ts', "import '../../core/src/index.ts'", ['packages-by-name']],
  ['packages/memory/src/deep.ts', "import '@spillway/core/src/good.ts'", ['memory-imports', 'no-unresolvable']],
  ['packages/memory/test/path.ts', "import '../../core/src/index.ts'", ['packages-by-name']],
  ['packages/redis/src/client.ts', "import type { a } from 'ioredis'", []],
  ['packages/redis/src/memory.ts', "import '@spillway/memory'", ['redis-imports']],
  ['packages/stores/src/good.ts', "import '@spillway/core'", []],
  ['packages/sqlite/src/client.ts', "import 'pg'", ['sqlite-imports']],
  ['packages/stores/src/client.ts', "import 'pg'", ['stores-imports']],
  ['packages/postgres/src/client.ts', "import type { a } from 'pg'", []],
  ['packages/postgres/src/other.ts', "import 'ioredis'", ['postgres-imports']],
  ['packages/conformance/src/good.ts', "import 'node:assert/strict'", []],
  ['packages/conformance/src/checks.ts', "import 'fast-check'", []],
  ['packages/conformance/src/memory.ts', "import '@spillway/memory'", ['conformance-imports']],
  ['packages/conformance/src/vitest.ts', "import 'vitest'", ['conformance-imports']],
  ...['express', 'koa', 'hono', 'fastify', 'h3', 'elysia'].flatMap((name): typeof files => [
    [`packages/${name}/src/types.ts`, `import type { a } from '${name}'`, []],
    [`packages/${name}/src/core.ts`, "import '@spillway/core/http'", []],
    [`packages/${name}/src/memory.ts`, "export { a } from '@spillway/memory'", []],
    [`packages/${name}/src/code.ts`, `import { a } from '${name}'`, [`${name}-types-only`]],
    [`packages/${name}/src/lazy.ts`, `await import('${name}')`, [`${name}-types-only`]],
    [`packages/${name}/src/npm.ts`, "import 'left-pad'", [`${name}-imports`]],
    [`packages/${name}/src/suite.ts`, "import '@spillway/conformance'", [`${name}-imports`]],
    [`packages/${name}/test/app.ts`, `import '${name}'`, []],
  ]),
  ['packages/nestjs/src/code.ts', "import { a } from '@nestjs/common'", []],
  ['packages/nestjs/src/npm.ts', "import 'left-pad'", ['nestjs-imports']],
  ...['elysia', 'fastify', 'h3', 'hono', 'koa'].flatMap((name): typeof files => [
    [`packages/shed/src/${name}-types.ts`, `import type { a } from '${name}'`, []],
    [`packages/shed/src/${name}-code.ts`, `import { a } from '${name}'`, [`${name}-types-only`]],
  ]),
  ['packages/shed/src/code.ts', "import { a } from '@nestjs/common'", []],
  ['packages/shed/src/memory.ts', "import '@spillway/memory'", ['shed-imports']],
  ['packages/fetch/src/core.ts', "import '@spillway/core/http'", []],
  ['packages/fetch/src/memory.ts', "export { a } from '@spillway/memory'", []],
  ['packages/fetch/src/npm.ts', "import type { a } from 'hono'", ['fetch-imports']],
  ['packages/node/src/core.ts', "import '@spillway/core/http'", []],
  ['packages/node/src/memory.ts', "export { a } from '@spillway/memory'", []],
  ['packages/node/src/node.ts', "import { ServerResponse } from 'node:http'", []],
  ['packages/node/src/npm.ts', "import type { a } from 'express'", ['node-imports']],
  ['packages/express/src/compat/hash.ts', "import { createHash } from 'node:crypto'", []],
  ['packages/koa/src/hash.ts', "import { createHash } from 'node:crypto'", ['koa-imports']],
  ['packages/cli/src/log.ts', "import { createGunzip } from 'node:zlib'", []],
  ['packages/cli/src/adapter.ts', "import '@spillway/express'", ['cli-imports']],
  ['packages/cloudflare/src/core.ts', "import '@spillway/core'", []],
  ['packages/cloudflare/src/object.ts', "import 'cloudflare:workers'", []],
  ['packages/cloudflare/src/sockets.ts', "import 'cloudflare:sockets'", ['cloudflare-imports']],
  ['packages/cloudflare/src/memory.ts', "import '@spillway/memory'", ['cloudflare-imports']],
  ['packages/opentelemetry/src/channel.ts', "import 'node:diagnostics_channel'", []],
  ['packages/opentelemetry/src/memory.ts', "import '@spillway/memory'", ['opentelemetry-imports']],
  ['packages/plans/src/cache.ts', "import { LRUCache } from 'lru-cache'", []],
  ['packages/admin/src/memory.ts', "import '@spillway/memory'", ['admin-imports']],
  ['packages/plans/src/memory.ts', "import '@spillway/memory'", ['plans-imports']],
  ['packages/client/src/core.ts', "import '@spillway/core'", []],
  ['packages/client/src/memory.ts', "import '@spillway/memory'", ['client-imports']],
  ['packages/shed/src/core.ts', "import '@spillway/core/http'", []],
  ['packages/shed/src/memory.ts', "import '@spillway/memory'", ['shed-imports']],
  ['packages/simulation/src/core.ts', "import '@spillway/core'", []],
  ['packages/simulation/src/client.ts', "import 'ioredis'", ['simulation-imports']],
  ['test/name.ts', "import '@spillway/core'", []],
  ['test/path.ts', "import '../packages/core/src/index.ts'", ['packages-by-name-outside']],
]

let tree: string
let violations: { from: string; rule: { name: string } }[]

function write(path: string, text: string): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true })
  writeFileSync(join(tree, path), text)
}

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), 'spillway-rules-'))
  for (const name of npm) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, exports: './index.js' }))
    write(`node_modules/${name}/index.js`, 'export const a = 1')
  }
  write('package.json', '{}')
  mkdirSync(join(tree, 'node_modules/@spillway'))
  for (const name of [
    'core',
    'memory',
    'redis',
    'postgres',
    'stores',
    'sqlite',
    'express',
    'koa',
    'hono',
    'fastify',
    'h3',
    'elysia',
    'nestjs',
    'fetch',
    'node',
    'cloudflare',
    'conformance',
  ]) {
    const exports = { '.': './src/index.ts', './http': './src/http/index.ts' }
    write(`packages/${name}/package.json`, JSON.stringify({ name: `@spillway/${name}`, exports }))
    write(`packages/${name}/src/index.ts`, 'export const a = 1')
    symlinkSync(join(tree, 'packages', name), join(tree, 'node_modules/@spillway', name), 'junction')
  }
  write('packages/core/src/http/index.ts', 'export const a = 1')
  for (const [path, code] of files) write(path, code)

  const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const config = join(root, '.dependency-cruiser.mjs')
  const run = spawnSync(process.execPath, [cruiser, '--config', config, '-T', 'json', 'packages', 'test'], {
    cwd: tree,
    encoding: 'utf8',
  })
  violations = JSON.parse(run.stdout).summary.violations
})

afterAll(() => rmSync(tree, { recursive: true, force: true }))

test.each(files)('%s: %s', (path, _code, broken) => {
  const names = violations.filter(({ from }) => from === path).map(({ rule }) => rule.name)
  expect(names.sort()).toEqual(broken)
})

test('every rule is broken by some file', async () => {
  const { default: config } = await import('../.dependency-cruiser.mjs')
  const rules = config.forbidden.map(({ name }) => name)
  expect(new Set(files.flatMap(([, , broken]) => broken))).toEqual(new Set(rules))
})

test.each(Object.entries(neighbours))('each folder of %s has a rule', (path, folders) => {
  const found = readdirSync(join(root, path)).filter((name) => !name.endsWith('.ts'))
  expect(Object.keys(folders).sort()).toEqual(found.sort())
})

test('each folder of a feature has a rule', () => {
  const folders = readdirSync(join(root, 'packages/core/src/features')).filter((name) => !name.endsWith('.ts'))
  expect(Object.keys(features).sort()).toEqual(folders.sort())
})
