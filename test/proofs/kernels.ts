import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

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
    import { windowAlgorithm } from './core/src/algorithms/window/window-algorithm.ts'
    import { warmUpAlgorithm } from './core/src/algorithms/warm-up/warm-up-algorithm.ts'
    import { KERNELS } from './core/src/kernels/kernels.ts'

    const ALGORITHMS = {
      bucket: scheduledAlgorithm,
      'sliding-window': windowAlgorithm,
      'sliding-log': logAlgorithm,
      'warm-up': warmUpAlgorithm,
      penalty: penaltyAlgorithm,
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

/** The program with one change. */
export function mutated(source: string, text: string, replacement: string): string {
  if (source.split(text).length !== 2) throw new Error(`the kernels have no single ${text}`)
  return source.replace(text, replacement)
}
