import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { installed } from './app.ts'

// An app and one of its dependencies have two versions of the packages installed, in one process.

const NEWER = ['core', 'memory']

/** Where a dependency of the app has its own versions. */
const own = (dependency: string): string => join(inject('app'), 'versions', dependency, 'node_modules/@spillway')

/** Installs the packages again as version 99, and changes their code. */
function installNewer(dependency: string, change: (code: string) => string): void {
  for (const name of NEWER) {
    const folder = join(own(dependency), name)
    mkdirSync(folder, { recursive: true })
    cpSync(installed(inject('app'), name), folder, { recursive: true })
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as object
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }))
    for (const file of readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, 'dist', file)
      if (!file.endsWith('.js')) continue
      writeFileSync(path, change(readFileSync(path, 'utf8')))
    }
  }
}

/** Runs a program in the app that has `ours`, and `theirs` of the dependency; returns what it prints. */
function run(dependency: string, code: string): string {
  const folder = join(inject('app'), 'versions')
  const entry = join(own(dependency), 'memory/dist/index.js')
  writeFileSync(
    join(folder, `${dependency}.mjs`),
    `import * as ours from '@spillway/memory'\nconst load = () => import(${JSON.stringify(entry)})\n${code}`,
  )
  return execFileSync(process.execPath, [`${dependency}.mjs`], { cwd: folder, encoding: 'utf8' })
}

beforeAll(() => {
  installNewer('same-shape', (code) => code)
  installNewer('other-shape', (code) => code.replace('const SHAPE = 1', 'const SHAPE = 2'))
})

test('two versions count together: a name that both use on one store must have one quota', () => {
  const printed = run(
    'same-shape',
    `const theirs = await load()
    const store = ours.memoryStore()
    const limiter = ours.rateLimiter({ name: 'api', quota: ours.perMinute(2), store })
    const other = theirs.rateLimiter({ name: 'api', quota: theirs.perMinute(2), store })
    limiter.consumeSync('a')
    console.log(ours.rateLimiter === theirs.rateLimiter, other.consumeSync('a').remaining)
    try { theirs.rateLimiter({ name: 'api', quota: theirs.perMinute(3), store }) } catch ({ code }) { console.log(code) }`,
  )
  expect(printed.split('\n')).toEqual(['false 0', 'ERR_SPILLWAY_OPTION', ''])
})

test('two versions that cannot count together throw when the second is loaded or used, and say why', () => {
  const printed = run(
    'other-shape',
    `ours.rateLimiter({ quota: ours.perMinute(1) }).consumeSync('a')
    try { (await load()).rateLimiter({ quota: ours.perMinute(1) }) } catch ({ message }) { console.log(message) }`,
  )
  expect(printed).toContain('two versions of @spillway/core cannot count together')
})
