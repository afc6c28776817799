import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// The packages as a user gets them: packed, unpacked into a node_modules, imported, required and compiled.

type Manifest = {
  exports: Record<string, unknown>
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

const root = fileURLToPath(new URL('..', import.meta.url))
const names = readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'src')))
const { packageManager } = readJson(join(root, 'package.json'))
const isWindows = process.platform === 'win32'

let app: string

const installed = (name: string) => join(app, 'node_modules/@spillway', name)

function readJson(path: string): Manifest & Record<string, string> {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** What can be imported from the packed packages: '@spillway/core', '@spillway/core/http' and so on. */
function entries(): string[] {
  return names.flatMap((name) => {
    const { exports } = readJson(join(installed(name), 'package.json'))
    return Object.keys(exports).map((path) => `@spillway/${name}${path.slice(1)}`)
  })
}

/** Makes what is installed for a package in the workspace visible to the app. */
function link(name: string, dependency: string): void {
  const target = join(app, 'node_modules', dependency)
  if (dependency.startsWith('@spillway/') || existsSync(target)) return
  mkdirSync(dirname(target), { recursive: true })
  symlinkSync(join(root, 'packages', name, 'node_modules', dependency), target, 'junction')
}

function linkAll(kind: 'dependencies' | 'peerDependencies'): void {
  for (const name of names) {
    const manifest = readJson(join(root, 'packages', name, 'package.json'))
    for (const dependency of Object.keys(manifest[kind] ?? {})) link(name, dependency)
  }
}

/** Runs a file of the app and returns the JSON that it prints. */
function runs(file: string, code: string): unknown {
  writeFileSync(join(app, file), code)
  return JSON.parse(execFileSync(process.execPath, [file], { cwd: app, encoding: 'utf8' }))
}

beforeAll(() => {
  const unbuilt = names.filter((name) => !existsSync(join(root, 'packages', name, 'dist')))
  if (unbuilt.length > 0) throw new Error(`no dist in ${unbuilt.join(', ')}: run \`npm run build\` first`)

  app = mkdtempSync(join(tmpdir(), 'spillway-packages-'))
  writeFileSync(join(app, 'package.json'), '{}')
  const pack = ['--yes', packageManager, '--filter', './packages/*', 'pack', '--pack-destination', app]
  execFileSync('npx', pack as string[], { cwd: root, shell: isWindows, stdio: 'pipe' })
  for (const name of names) {
    const tarball = readdirSync(app).find((file) => file.startsWith(`spillway-${name}-`))
    mkdirSync(installed(name), { recursive: true })
    execFileSync('tar', ['-xzf', join(app, String(tarball)), '-C', installed(name), '--strip-components=1'])
  }
  linkAll('dependencies')
})

afterAll(() => rmSync(app, { recursive: true, force: true }))

describe.each(names)('@spillway/%s', (name) => {
  test('holds its build, its sources and three papers', () => {
    expect(readdirSync(installed(name)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json', 'src'])
    const files = readdirSync(join(installed(name), 'dist'), { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.includes('.') && !/\.(js|d\.ts)(\.map)?$/.test(file))).toEqual([])
  })

  test('names no file that it lacks and no workspace', () => {
    const manifest = readFileSync(join(installed(name), 'package.json'), 'utf8')
    expect(manifest).not.toMatch(/workspace:|catalog:/)
    const targets = Object.values(JSON.parse(manifest).exports as Record<string, Record<string, string>>)
    for (const target of targets.flatMap((conditions) => Object.values(conditions))) {
      expect(target).toMatch(/^\.\/dist\//)
      expect(existsSync(join(installed(name), target)), target).toBe(true)
    }
  })
})

test('every entry gives import() and require() the same names, with no framework installed', () => {
  const list = JSON.stringify(entries())
  const print = 'console.log(JSON.stringify(names))'
  const imported = runs(
    'esm.mjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(await import(e)).sort(); ${print}`,
  )
  const required = runs(
    'cjs.cjs',
    `const names = {}; for (const e of ${list}) names[e] = Object.keys(require(e)).sort(); ${print}`,
  )
  expect(required).toEqual(imported)
  for (const [entry, exported] of Object.entries(imported as Record<string, string[]>)) {
    expect(exported.length, `${entry} exports nothing`).toBeGreaterThan(0)
    expect(exported).not.toContain('default')
  }
})

test('the declarations compile in ES modules and in CommonJS', () => {
  linkAll('peerDependencies')
  symlinkSync(join(root, 'node_modules/@types/node'), join(app, 'node_modules/@types/node'), 'junction')
  const imports = entries().map((entry, i) => `import * as e${i} from '${entry}'`)
  const uses = entries().map((_, i) => `export const t${i}: typeof e${i} = e${i}`)
  const code = [
    ...imports,
    ...uses,
    "import { perMinute, rateLimit } from '@spillway/express'",
    'export const middleware = rateLimit({ quota: perMinute(100) })',
    '// @ts-expect-error: the types are there, so a wrong one is refused',
    "perMinute('many')",
  ].join('\n')
  writeFileSync(join(app, 'esm-user.mts'), code)
  writeFileSync(join(app, 'cjs-user.cts'), code)
  const options = '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2023 --types node'
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const args = [tsc, ...options.split(' '), '--skipLibCheck', 'false', 'esm-user.mts', 'cjs-user.cts']
  const { stdout } = spawnSync(process.execPath, args, { cwd: app, encoding: 'utf8' })
  expect(stdout).toBe('')
})
