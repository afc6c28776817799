import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const core = fileURLToPath(new URL('../../packages/core/src/', import.meta.url))

/** The kernels as they are written, without their types, in one program. */
export function kernelSource(): string {
  const contents = `
    export { bucket, fitsAt } from './kernels/bucket.ts'
    export { emptyAt, runKernel } from './kernels/kernel.ts'
    export { decider } from './decide.ts'
    export { stepFor } from './verbs.ts'`
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: core, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'esnext',
  })
  return (outputFiles[0] as { text: string }).text
}

/** The program with one change. */
export function mutated(source: string, text: string, replacement: string): string {
  if (source.split(text).length !== 2) throw new Error(`the kernels have no single ${text}`)
  return source.replace(text, replacement)
}
