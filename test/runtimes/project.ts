import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { packAll, root } from '../packages/pack.ts'

// A user's project: the packages are installed from their tarballs by npm, with frameworks.

/** The compilers that the declarations are held against, by the names that npm installs them under. */
export const COMPILERS: Readonly<Record<string, string>> = {
  'typescript-5.4': '5.4.5',
  'typescript-5': '5.9.3',
  'typescript-6': '6.0.3',
  'typescript-7': '7.0.2',
}

const TYPES = ['@types/express', '@types/koa', '@types/node', '@types/pg']
const FRAMEWORKS = ['@hono/node-server', 'elysia', 'express', 'fastify', 'hono', 'koa']
const CLIENTS = ['@opentelemetry/api', 'ioredis', 'pg', 'redis']

/** Programs that run in the project, where they come from. */
const PROGRAMS: Readonly<Record<string, string>> = {
  suite: 'suite.ts',
  elysia: 'elysia.ts',
  serve: 'serve.ts',
  worker: 'worker.ts',
  objects: '../../packages/cloudflare/test/worker.ts',
  example: '../../examples/fetch/main.ts',
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Makes the project, and returns where the tarball of each package is. */
export async function makeProject(folder: string): Promise<ReadonlyMap<string, string>> {
  mkdirSync(folder, { recursive: true })
  const tarballs = packAll(join(folder, 'tarballs'))
  const dependencies = {
    ...Object.fromEntries([...tarballs].map(([name, path]) => [`@spillway/${name}`, path])),
    ...Object.fromEntries([...TYPES, ...FRAMEWORKS, ...CLIENTS].map((name) => [name, versionOf(name)])),
    ...Object.fromEntries(Object.entries(COMPILERS).map(([name, version]) => [name, `npm:typescript@${version}`])),
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  npm(folder, 'install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error')
  for (const [name, source] of Object.entries(PROGRAMS)) {
    await writeProgram(here(source), join(folder, `${name}.mjs`), 'esm')
    await writeProgram(here(source), join(folder, `${name}.cjs`), 'cjs')
  }
  // Bun asks the export itself where to listen.
  const onLoopback = "import app from './example.mjs'\nexport default { ...app, hostname: '127.0.0.1', port: 0 }\n"
  writeFileSync(join(folder, 'example-here.mjs'), onLoopback)
  for (const kind of ['mts', 'cts']) copyFileSync(here('user.ts'), join(folder, `user.${kind}`))
  return tarballs
}

/** A program in plain JavaScript; what it imports by name is left to be found where it runs. */
async function writeProgram(entry: string, outfile: string, format: 'esm' | 'cjs'): Promise<void> {
  const external = ['cloudflare:*']
  await build({ entryPoints: [entry], outfile, format, external, packages: 'external', bundle: true, platform: 'node' })
}

function npm(folder: string, ...args: string[]): void {
  execFileSync('npm', args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
}

/** The version that the workspace has in its catalog. */
export function versionOf(name: string): string {
  const catalog = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')
  const [, version] = new RegExp(`^  '?${name}'?: (\\S+)`, 'm').exec(catalog) ?? []
  if (version === undefined) throw new Error(`pnpm-workspace.yaml has no ${name} in its catalog`)
  return version
}
