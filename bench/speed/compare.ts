import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Figure, figureOf } from '../table.ts'
import { bundled } from './revision.ts'

/** Compilers optimise differently in each process, by several percent: the median is of this many. */
const PROCESSES = 7

export interface CompareOptions {
  /**
   * The share by which the second revision is slowed down, to test the comparison.
   * @default `0`
   */
  readonly slowdown?: number
  /**
   * How long each process measures.
   * @default `1`
   */
  readonly seconds?: number
  /**
   * The number of processes.
   * @default `7`
   */
  readonly processes?: number
}

/** Bundles the cases with the sources of a folder, and returns the file. */
export async function bundleCases(sources: string, folder: string, name: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, await bundled("export * from './cases.ts'", sources, false))
  return file
}

/**
 * How much longer a case takes in `head` than in `base`, both bundles: 1 if it takes as long. Both alternate in one process,
 * so that a slow moment of the machine affects both. Every second process swaps them, so that their order affects neither.
 */
export async function compare(base: string, head: string, name: string, options: CompareOptions = {}): Promise<Figure> {
  const { slowdown = 0, seconds = 1, processes = PROCESSES } = options
  const ratios: number[] = []
  for (let i = 0; i < processes; i++) {
    const swapped = i % 2 === 1 && slowdown === 0
    const ratio = await measured(swapped ? [head, base] : [base, head], name, slowdown, seconds)
    ratios.push(swapped ? 1 / ratio : ratio)
  }
  return figureOf(ratios)
}

const measured = (
  bundles: readonly [string, string],
  name: string,
  slowdown: number,
  seconds: number,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = fork(new URL('child.ts', import.meta.url), [...bundles, name, String(slowdown), String(seconds)], {
      execArgv: ['--import', import.meta.resolve('tsx')],
    })
    child.once('message', (ratio) => resolve(Number(ratio)))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${name} ended without a result, with code ${code}`)))
  })
