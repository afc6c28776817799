import { gzipSync } from 'node:zlib'
import { bundled } from './revision.ts'

/** An adapter: it exports what its users need of core and of the in-memory store, too. */
const PACKAGE = '@spillway/hono'

/** The bytes that each export adds to a bundle: minified with all it imports, and gzipped. */
export async function sizesOf(folder: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of await exportsOf(folder)) {
    const code = await bundled(`export { ${name} } from '${PACKAGE}'`, folder, true)
    sizes.set(name, gzipSync(code).length)
  }
  return sizes
}

async function exportsOf(folder: string): Promise<readonly string[]> {
  const code = await bundled(`export * from '${PACKAGE}'`, folder, true)
  const module = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)
  return Object.keys(module)
}
