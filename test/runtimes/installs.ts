import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { names, readManifest, root } from '../packages/pack.ts'
import { versionOf } from './project.ts'
import type { Registry } from './registry.ts'

// A user's project, with the packages installed by the package managers other than npm. pnpm and Yarn's Plug'n'Play let
// each package import only what it declares.

const run = promisify(execFile)

/** What can be imported in Node: `object` needs a module that only Workers have. */
const ENTRIES = names
  .flatMap((name) =>
    Object.keys(readManifest(join(root, 'packages', name)).exports).map((path) => name + path.slice(1)),
  )
  .filter((entry) => entry !== 'cloudflare/object')

/** What their pages install beside them. */
const PEERS = ['@nestjs/common', '@nestjs/core', '@opentelemetry/api', 'elysia', 'express', 'fastify', 'h3', 'hono']
const MORE = ['ioredis', 'koa', 'pg', 'reflect-metadata', 'rxjs']

/** A package manager: how it installs packages, how it runs a file, and how it names packages of npm. */
interface Manager {
  readonly name: string
  readonly add: readonly string[]
  readonly run: readonly string[]
  readonly prefix?: string
}

const YARN = ['-p', '@yarnpkg/cli-dist@4', 'yarn']

const MANAGERS: readonly Manager[] = [
  { name: 'pnpm', add: ['pnpm@12', 'add'], run: ['pnpm@12', 'node'] },
  { name: "Yarn's Plug'n'Play", add: [...YARN, 'add'], run: [...YARN, 'node'] },
  { name: 'Bun', add: ['bun@1', 'add'], run: ['bun@1', 'run'] },
  { name: 'Deno', add: ['deno@2', 'add'], run: ['deno@2', 'run', '--allow-all'], prefix: 'npm:' },
]

const CHECK = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
for (const entry of ${JSON.stringify(ENTRIES)}) {
  const name = '@spillway/' + entry
  const [imported, required] = [Object.keys(await import(name)).length, Object.keys(require(name)).length]
  if (imported === 0 || imported !== required) throw new Error(name + ': ' + imported + ' and ' + required + ' names')
}
console.log('${ENTRIES.length} entries')
`

/** The package managers by which every entry is installed, and what went wrong. */
export async function installed(folder: string, registry: Registry) {
  const specs = [
    ...names.map((name) => `@spillway/${name}`),
    ...[...PEERS, ...MORE].map((name) => `${name}@${versionOf(name)}`),
  ]
  const [managers, failures]: [string[], string[]] = [[], []]
  for (const { name, add, run: start, prefix = '' } of MANAGERS) {
    const cwd = join(folder, `by ${name}`)
    mkdirSync(cwd)
    const all = { ...registry.files, 'check.mjs': CHECK, 'package.json': '{ "private": true }' }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(cwd, file), text)
    const npx = (...args: string[]) => run('npx', ['--yes', ...args], { cwd, shell: process.platform === 'win32' })
    try {
      await npx(...add, ...specs.map((spec) => prefix + spec))
      const { stdout } = await npx(...start, 'check.mjs')
      if (!stdout.includes(`${ENTRIES.length} entries`)) throw new Error(`it ended early: ${stdout}`)
      managers.push(name)
    } catch (error) {
      failures.push(`installed by ${name}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { managers, failures }
}
