import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerOf } from '../answer.ts'
import { type Figure, figureOf } from '../table.ts'
import { bundled } from './revision.ts'

/** Compilers optimise differently in each process, by several percent: the median is of this many pairs of processes. */
const PAIRS = 5

/** One of two bundles that are compared, and the share by which it is slowed down. */
export interface Revision {
  readonly bundle: string
  readonly slowdown: number
}

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
   * The number of pairs of processes.
   * @default `5`
   */
  readonly pairs?: number
}

/** Bundles the cases with the sources of a folder, and returns the file. */
export async function bundleCases(sources: string, folder: string, name: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, await bundled("export * from './cases.ts'", sources, false))
  return file
}

/**
 * How much longer a case takes in `head` than in `base`, both bundles: 1 if it takes as long. Both alternate in one process,
 * so that a slow moment of the machine affects both. In the second process of a pair they change places: the bundle that
 * runs first may be faster by several percent, which the mean of the pair does not show.
 */
export async function compare(base: string, head: string, name: string, options: CompareOptions = {}): Promise<Figure> {
  const { slowdown = 0, seconds = 1, pairs = PAIRS } = options
  const revisions: readonly Revision[] = [
    { bundle: base, slowdown: 0 },
    { bundle: head, slowdown },
  ]
  const ratios: number[] = []
  for (let i = 0; i < pairs; i++) {
    const ratio = await measured(revisions, name, seconds)
    ratios.push(Math.sqrt(ratio / (await measured(revisions.toReversed(), name, seconds))))
  }
  return figureOf(ratios)
}

/** How much longer the second revision takes than the first, in a process of their own. */
function measured(revisions: readonly Revision[], name: string, seconds: number): Promise<number> {
  const child = fork(new URL('child.ts', import.meta.url), [JSON.stringify(revisions), name, String(seconds)], {
    execArgv: ['--import', import.meta.resolve('tsx')],
  })
  return answerOf(child, name)
}
