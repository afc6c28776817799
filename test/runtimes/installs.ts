import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { versionOf } from './project.ts'

// A user's project, installed by the package managers other than npm. pnpm and Yarn's Plug'n'Play let each package import
// only what it declares.

/** What a user of the adapters and stores installs, and imports. */
const PACKAGES = ['core', 'express', 'fastify', 'fetch', 'hono', 'koa', 'memory', 'postgres', 'redis']
const PEERS = ['express', 'fastify', 'hono', 'ioredis', 'koa', 'pg']
const ENTRIES = [...PACKAGES, 'core/http', 'core/internal', 'core/rules', 'express/compat']

/** A package manager: what tells it where the packages are, how it installs, and how it runs a file in Node. */
interface Manager {
  readonly name: string
  readonly files: (tarballs: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  readonly manifest?: (tarballs: Readonly<Record<string, string>>) => object
  readonly install: readonly string[]
  readonly node: readonly string[]
}

const YARN = ['npx', '--yes', '-p', '@yarnpkg/cli-dist@4', 'yarn']

const MANAGERS: readonly Manager[] = [
  {
    name: 'pnpm',
    files: (overrides) => ({ 'pnpm-workspace.yaml': JSON.stringify({ packages: [], overrides }) }),
    install: ['npx', '--yes', 'pnpm@12', 'install'],
    node: ['node'],
  },
  {
    name: "Yarn's Plug'n'Play",
    files: () => ({ '.yarnrc.yml': 'nodeLinker: pnp\nenableTelemetry: false\n', 'yarn.lock': '' }),
    manifest: (resolutions) => ({ resolutions }),
    install: [...YARN, 'install'],
    node: [...YARN, 'node'],
  },
  {
    name: 'Bun',
    files: () => ({}),
    manifest: (overrides) => ({ overrides }),
    install: ['npx', '--yes', 'bun@1', 'install'],
    node: ['node'],
  },
]

const CHECK = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
for (const entry of ${JSON.stringify(ENTRIES)}) {
  const name = '@spillway/' + entry
  const [imported, required] = [Object.keys(await import(name)).length, Object.keys(require(name)).length]
  if (imported === 0 || imported !== required) throw new Error(name + ': ' + imported + ' and ' + required + ' names')
}
`

/** The package managers by which every entry is installed, and what went wrong. */
export function installed(folder: string, tarballs: ReadonlyMap<string, string>) {
  const files = Object.fromEntries([...tarballs].map(([name, path]) => [`@spillway/${name}`, `file:${path}`]))
  const dependencies = {
    ...Object.fromEntries(PACKAGES.map((name) => [`@spillway/${name}`, files[`@spillway/${name}`]])),
    ...Object.fromEntries(PEERS.map((name) => [name, versionOf(name)])),
  }
  const [managers, failures]: [string[], string[]] = [[], []]
  for (const { name, files: filesOf, manifest, install, node } of MANAGERS) {
    const cwd = join(folder, `by ${name}`)
    mkdirSync(cwd)
    const all = { ...filesOf(files), 'check.mjs': CHECK }
    for (const [file, text] of Object.entries(all)) writeFileSync(join(cwd, file), text)
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ private: true, dependencies, ...manifest?.(files) }))
    try {
      for (const [program = '', ...args] of [install, [...node, 'check.mjs']])
        execFileSync(program, args, { cwd, stdio: 'pipe', encoding: 'utf8', shell: process.platform === 'win32' })
      managers.push(name)
    } catch (error) {
      failures.push(`installed by ${name}: ${error instanceof Error ? error.message : error}`)
    }
  }
  return { managers, failures }
}
