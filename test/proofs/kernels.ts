import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import type { Vector } from '../../packages/conformance/src/vectors/vector.ts'

const packages = fileURLToPath(new URL('../../packages/', import.meta.url))

/** The kernels as they are written, without their types, in one program. */
export const kernelSource = (): string => bundled(KERNELS)

/** The kernels, and how the store of PostgreSQL sends their steps. */
export const postgresSource = (): string =>
  bundled(`${KERNELS}
    export { boundsOf } from './postgres/src/bucket-bounds.ts'
    export { stepsOf } from './postgres/src/steps.ts'`)

// Not registered: the process has the algorithms as they are written, and a mutant has its own.
const KERNELS = `
    import { scheduledAlgorithm } from './core/src/algorithms/bucket/scheduled-algorithm.ts'
    import { penaltyAlgorithm } from './core/src/algorithms/penalty/penalty-algorithm.ts'
    import { logAlgorithm } from './core/src/algorithms/log/log-algorithm.ts'
    import { slotsAlgorithm } from './core/src/algorithms/slots/slots-algorithm.ts'
    import { windowAlgorithm } from './core/src/algorithms/window/window-algorithm.ts'
    import { warmUpAlgorithm } from './core/src/algorithms/warm-up/warm-up-algorithm.ts'
    import { KERNELS } from './core/src/kernels/kernels.ts'

    const ALGORITHMS = {
      bucket: scheduledAlgorithm,
      'sliding-window': windowAlgorithm,
      'sliding-log': logAlgorithm,
      'warm-up': warmUpAlgorithm,
      penalty: penaltyAlgorithm,
      slots: slotsAlgorithm,
    }
    export { bucket, fitsAt } from './core/src/kernels/bucket.ts'
    export const runKernel = (state, now, step) => KERNELS[step.kernel].run(state, now, step)
    export const decider = (policy, quota, cost, step) => ALGORITHMS[quota.kernel].decider(policy, quota, cost, step)
    export const stepFor = (quota, verb, cost, options) => ALGORITHMS[quota.kernel].stepFor(quota, verb, cost, options)`

function bundled(contents: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: packages, loader: 'ts' },
    alias: { '@spillway/core/internal': `${packages}core/src/internal.ts` },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'esnext',
    treeShaking: true,
  })
  return (outputFiles[0] as { text: string }).text
}

/** Whether the state of a quota is numbers: the interpreters have no lists, and no calendars. */
export const isOfNumbers = ({ quota }: Vector): boolean =>
  !['sliding-log', 'slots'].includes(quota.kernel) && (quota.kernel !== 'sliding-window' || quota.calendar === null)

/** The program with one change. */
export function mutated(source: string, text: string, replacement: string): string {
  if (source.split(text).length !== 2) throw new Error(`the kernels have no single ${text}`)
  return source.replace(text, replacement)
}
