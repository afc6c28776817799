import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const packages = fileURLToPath(new URL('../../packages/', import.meta.url))

/** The kernels as they are written, without their types, in one program. */
export const kernelSource = (): string => bundled(KERNELS)

/** The kernels, and how the store of PostgreSQL calls that of buckets. */
export const postgresSource = (): string =>
  bundled(`${KERNELS}
    export { boundsOf } from './postgres/src/bucket-bounds.ts'`)

const KERNELS = `
    export { bucket, fitsAt } from './core/src/kernels/bucket.ts'
    export { emptyAt, runKernel } from './core/src/kernels/kernel.ts'
    export { decider } from './core/src/decisions/decide.ts'
    export { stepFor } from './core/src/steps/verbs.ts'`

function bundled(contents: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: packages, loader: 'ts' },
    alias: { '@spillway/core/internal': `${packages}core/src/internal/index.ts` },
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
