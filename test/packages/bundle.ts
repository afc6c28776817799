import { gzipSync } from 'node:zlib'
import { type BuildOptions, type BuildResult, build } from 'esbuild'

/** What is not ours, and not in a bundle unless a package brings it along: clients, and modules of runtimes. */
const THEIRS = ['@nestjs/*', '@opentelemetry/api', 'cloudflare:*', 'commander', 'fast-check', 'ioredis', 'node:*', 'pg']

/** What an app writes that limits requests by an adapter. */
export const adapter = (name: string): string =>
  `import { perMinute, rateLimit } from '@spillway/${name}'; export const limit = rateLimit({ quota: perMinute(100) })`

export interface Bundle {
  readonly text: string
  /** Its bytes, gzipped. */
  readonly size: number
  readonly exports: readonly string[]
  /** The bytes of each module, minified, by its path. */
  readonly modules: Readonly<Record<string, number>>
}

/** Bundles code of an app, minified, with all that it imports from our packages. */
export async function bundleOf(
  app: string,
  code: string,
  options: Pick<BuildOptions, 'format' | 'globalName' | 'plugins'> = {},
): Promise<Bundle> {
  const { outputFiles, metafile }: BuildResult<{ write: false; metafile: true }> = await build({
    stdin: { contents: code, resolveDir: app },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    external: THEIRS,
    write: false,
    metafile: true,
    ...options,
  })
  const [file] = outputFiles
  const { exports = [], inputs = {} } = Object.values(metafile.outputs)[0] ?? {}
  const modules = Object.fromEntries(Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput]))
  return { text: file?.text ?? '', size: gzipSync(file?.contents ?? '').length, exports, modules }
}
