import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The path of a model. */
export const modelPath = (name: string): string => fileURLToPath(new URL(`${name}.pml`, import.meta.url))

const run = (command: string, args: readonly string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'pipe'] })

/** Whether Spin and a C compiler are installed. Debian has them as `spin` and `gcc`. */
export function hasSpin(): boolean {
  try {
    run('spin', ['-V'], '.')
    run('cc', ['--version'], '.')
    return true
  } catch {
    return false
  }
}

/** What a search of all states of a model has found. */
export interface Search {
  readonly states: number
  /** The assertion that fails in some order of steps; undefined if all hold in all states. */
  readonly violated: string | undefined
}

/** Spin writes files where it runs: each run has a folder of its own. */
function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-spin-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Explores all states of a model. `defines` are names, or `NAME=value`. */
export const search = (name: string, defines: readonly string[] = []): Search =>
  inFolder((folder) => {
    run('spin', [...definesOf(defines), '-a', modelPath(name)], folder)
    run('cc', ['-O1', '-w', '-DSAFETY', '-o', 'pan', 'pan.c'], folder)
    const text = run('./pan', ['-m100000', '-w24'], folder)
    const [, states] = /(\d+) states, stored/.exec(text) ?? []
    if (states === undefined || /max search depth too small|out of memory/.test(text)) throw new Error(text)
    return { states: Number(states), violated: /assertion violated \((.*)\) \(at depth/.exec(text)?.[1] }
  })

/** One random run of a model: the lines that it prints. */
export const simulate = (name: string, seed: number, defines: readonly string[] = []): readonly string[] =>
  inFolder((folder) => run('spin', ['-T', `-n${seed}`, ...definesOf(defines), modelPath(name)], folder))
    .split('\n')
    .filter((line) => /^[a-z]+( \d+)+$/.test(line))

const definesOf = (defines: readonly string[]): readonly string[] => defines.map((each) => `-D${each}`)
