// How long an app waits for `import` and `require` of a package, as it is installed.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packAll } from '../test/packages/pack.ts'
import { type Case, figureOf, type Row, type Table, type Target } from './table.ts'

const PEER = 'express-rate-limit'
const OURS = ['express', 'koa', 'hono', 'fastify', 'memory'].map((name) => `@spillway/${name}`)
const ROUNDS = 15

/** How an app loads a package, by column. */
const WAYS: Readonly<Record<string, (name: string) => readonly string[]>> = {
  import: (name) => ['--input-type=module', '--eval', `import '${name}'`],
  require: (name) => ['--input-type=commonjs', '--eval', `require('${name}')`],
}
/** The most that ours may take, in multiples of the peer's time. */
const AT_MOST: Readonly<Record<string, number>> = { import: 1.2, require: 1.1 }

/** Makes an app that has our packages from their tarballs, and the peer. */
function makeApp(folder: string): void {
  for (const [name, tarball] of packAll(join(folder, 'tarballs'))) {
    const path = join(folder, 'node_modules/@spillway', name)
    mkdirSync(path, { recursive: true })
    execFileSync('tar', ['-xzf', tarball, '-C', path, '--strip-components=1'])
  }
  const peer = join(folder, 'node_modules', PEER)
  mkdirSync(dirname(peer), { recursive: true })
  symlinkSync(join(import.meta.dirname, 'node_modules', PEER), peer, 'junction')
  writeFileSync(join(folder, 'package.json'), '{}')
}

/** The time of a process of Node, in milliseconds. */
function timeOf(cwd: string, args: readonly string[]): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return performance.now() - start
}

async function starts(progress: (share: number) => void): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-start-'))
  try {
    makeApp(folder)
    return measured(folder, progress)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Measures all in turn, so that a machine that slows down slows all of them. */
function measured(folder: string, progress: (share: number) => void): Table {
  const names = [...OURS, PEER]
  const columns = Object.keys(WAYS)
  const times = new Map<string, number[]>()
  const add = (name: string, ms: number): void => void times.set(name, [...(times.get(name) ?? []), ms])
  for (let round = 0; round < ROUNDS; round++) {
    const bare = timeOf(folder, ['--eval', ''])
    for (const column of columns) {
      for (const name of names) add(`${name} ${column}`, timeOf(folder, WAYS[column]?.(name) ?? []) - bare)
    }
    progress((round + 1) / ROUNDS)
  }
  const rows: Row[] = names.map((name) => ({
    name,
    figures: columns.map((column) => figureOf(times.get(`${name} ${column}`) ?? [])),
  }))
  const targets: Target[] = OURS.flatMap((ours) =>
    columns.map((column) => ({ ours, theirs: PEER, column, atMost: AT_MOST[column] ?? 1 })),
  )
  return {
    title: 'The time to load a package',
    how: `Milliseconds of a process of Node that loads the package and ends, less those of one that loads nothing; ${ROUNDS} rounds, each of all packages. The packages are installed from their tarballs.`,
    columns,
    rows,
    targets,
  }
}

/** Each measurement is a process of its own already. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = { start: starts }
