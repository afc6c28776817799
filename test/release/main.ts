import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { names, readManifest, root, workspaceFolders } from '../packages/pack.ts'
import { asked, starts } from '../packages/start.ts'
import { firstDenial } from '../runtimes/firsts.ts'
import { type Registry, startRegistry } from '../runtimes/registry.ts'
import { freePort } from '../services/redis.ts'

// `npm run release -- --dry`: a release, rehearsed to a registry on this machine. Versions and changelog are made, the
// packages are packed and published as they would be, and installed from there into new apps, which must deny.

const shell = process.platform === 'win32'
const folder = mkdtempSync(join(tmpdir(), 'spillway-release-'))
const workspace = join(folder, 'workspace')
const registry = await startRegistry(new Map())
try {
  copyWorkspace()
  await run(process.execPath, [join(root, 'scripts/version.mjs'), workspace])
  await publish(registry)
  const { version } = readManifest(join(workspace, 'packages/core'))
  const expected = names.map((name) => `@spillway/${name}@${version}`)
  const missing = expected.filter((each) => !registry.list().includes(each))
  if (missing.length > 0) throw new Error(`not published: ${missing.join(', ')}`)
  console.log(`published ${expected.length} packages as ${version}`)
  for (const start of starts().filter(({ name }) => name !== 'No HTTP')) {
    await firstDenial(start, folder, registry)
    console.log(`${start.name}: installed, and denied the fourth request`)
  }
  await expressInCommonJs()
  const printed = (await run('npx', ['--yes', '@spillway/cli', '--version'], newApp('cli'))).trim()
  if (printed !== version) throw new Error(`npx @spillway/cli --version printed ${printed} instead of ${version}`)
  console.log(`npx @spillway/cli --version: ${printed}`)
} finally {
  registry.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** All that is published, and what versions and changelog are made of. The build is not repeated. */
function copyWorkspace(): void {
  const manifests = workspaceFolders().map((folder) => `${folder}/package.json`)
  const files = ['package.json', 'pnpm-workspace.yaml', 'CHANGELOG.md', 'LICENSE', '.changeset', ...manifests]
  const packed = names.flatMap((name) => ['README.md', 'dist'].map((file) => `packages/${name}/${file}`))
  for (const file of [...files, ...packed]) cpSync(join(root, file), join(workspace, file), { recursive: true })
  // There may be no other note.
  writeFileSync(join(workspace, '.changeset/rehearsal.md'), "---\n'@spillway/core': patch\n---\n\nA rehearsal.\n")
  for (const name of names) {
    cpSync(join(root, 'LICENSE'), join(workspace, 'packages', name, 'LICENSE'))
    // pnpm reads the version of a dependency in the workspace where it is installed.
    const { dependencies = {}, devDependencies = {} } = readManifest(join(root, 'packages', name))
    const ours = Object.keys({ ...dependencies, ...devDependencies }).filter((each) => each.startsWith('@spillway/'))
    const modules = join(workspace, 'packages', name, 'node_modules/@spillway')
    mkdirSync(modules, { recursive: true })
    for (const each of ours) {
      const target = join(workspace, 'packages', each.replace('@spillway/', ''))
      symlinkSync(target, join(modules, each.replace('@spillway/', '')), 'junction')
    }
  }
}

async function publish({ url }: Registry): Promise<void> {
  const host = url.replace('http:', '')
  writeFileSync(join(workspace, '.npmrc'), `@spillway:registry=${url}/\n${host}/:_authToken=rehearsal\n`)
  const { packageManager = 'pnpm' } = readManifest(root)
  const filters = names.flatMap((name) => ['--filter', `@spillway/${name}`])
  await run('npx', ['--yes', packageManager, ...filters, 'publish', '--access', 'public', '--no-git-checks'], workspace)
}

/** README's first program, required. */
async function expressInCommonJs(): Promise<void> {
  const cwd = newApp('express-cjs')
  await run('npm', ['install', 'express', '@spillway/express'], cwd)
  const [, sample = ''] =
    /```ts\n(import .*?from '@spillway\/express'.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  const port = await freePort()
  const code = sample
    .replace(/import (\{.*?\}|\w+) from ('.*?')/g, 'const $1 = require($2)')
    .replace('3000', `${port}, '127.0.0.1'`)
  writeFileSync(join(cwd, 'app.cjs'), code)
  const server = spawn(process.execPath, ['app.cjs'], { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const url = `http://127.0.0.1:${port}/`
    const text = await (await asked(url)).text()
    if (text !== '99 requests left') throw new Error(`README's program answered ${text}`)
    console.log(`Express in CommonJS: ${text}`)
  } finally {
    server.kill('SIGKILL')
  }
}

/** A new app, which finds our packages in the registry here. */
function newApp(name: string): string {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  writeFileSync(join(cwd, '.npmrc'), registry.files['.npmrc'] ?? '')
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }')
  return cwd
}

/** Runs a program, while this process serves the registry, and returns what it prints. */
async function run(program: string, args: readonly string[], cwd = root): Promise<string> {
  return (await promisify(execFile)(program, args, { cwd, shell })).stdout
}
