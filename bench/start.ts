// How long an app waits for `import` and `require` of a package, as it is installed.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packAll } from '../test/packages/pack.ts'
import { type Case, figureOf, type Table } from './table.ts'

const PEER = 'express-rate-limit'
const OURS = ['express', 'koa', 'hono', 'fastify', 'node', 'memory'].map((name) => `@spillway/${name}`)
const OF_PEER = `of ${PEER}`
const ROUNDS = 41

/** How an app loads a package, and the most that ours may take, in multiples of the peer's time. */
interface Way {
  readonly verb: string
  readonly args: readonly string[]
  readonly code: (name: string) => string
  readonly atMost: number
}
const IMPORT: Way = {
  verb: 'import',
  args: ['--input-type=module'],
  code: (name) => `import '${name}'`,
  atMost: 1.2,
}
const REQUIRE: Way = {
  verb: 'require',
  args: ['--input-type=commonjs'],
  code: (name) => `require('${name}')`,
  atMost: 1.1,
}

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

/**
 * The CPU time of a process of Node that runs code, in milliseconds: how long it waits for a processor depends on what else
 * runs.
 */
function timeOf(cwd: string, args: readonly string[], code = ''): number {
  const end = "process.on('exit', () => console.log(JSON.stringify(process.cpuUsage())))"
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args, '--eval', `${code}; ${end}`], {
    cwd,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  const { user, system } = JSON.parse(stdout)
  return (user + system) / 1_000
}

const start =
  (way: Way): Case =>
  async (progress) => {
    const folder = mkdtempSync(join(tmpdir(), 'spillway-start-'))
    try {
      makeApp(folder)
      return measured(folder, way, progress)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

/** Measures all in turn, each round from another one, so that a machine that slows down slows all of them. */
function measured(folder: string, { verb, args, code, atMost }: Way, progress: (share: number) => void): Table {
  const names = [...OURS, PEER]
  const times = names.map((): number[] => [])
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(timeOf(folder, []))
    for (let i = 0; i < names.length; i++) {
      const turn = (i + round) % names.length
      times[turn]?.push(timeOf(folder, args, code(names[turn] as string)))
    }
    progress((round + 1) / ROUNDS)
  }
  const nothing = figureOf(bare).median
  const loading = times.map((each) => each.map((ms) => ms - nothing))
  const theirs = loading[names.indexOf(PEER)] ?? []
  return {
    title: `The time to ${verb} a package`,
    how: `Milliseconds of CPU time of a process of Node that loads the package and ends, less the median of one that loads nothing; ${ROUNDS} rounds, each of all packages, and beside them the ratio in each round: a machine changes its speed from round to round. The packages are installed from their tarballs.`,
    columns: ['ms', OF_PEER],
    rows: names.map((name, i) => {
      const ours = loading[i] ?? []
      return { name, figures: [figureOf(ours), figureOf(ours.map((ms, round) => ms / (theirs[round] as number)))] }
    }),
    targets: OURS.map((ours) => ({ ours, column: OF_PEER, atMost })),
  }
}

/** Each measurement is a process of its own already. */
export const processes = 1

export const cases: Readonly<Record<string, Case>> = { import: start(IMPORT), require: start(REQUIRE) }
