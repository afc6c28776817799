import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type BuildOptions, type BuildResult, build, type Plugin } from 'esbuild'
import { rolldown } from 'rolldown'

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

/** How an app is bundled: minified, with all that it imports from our packages. */
const MINIFIED = {
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  external: THEIRS,
  write: false,
} as const satisfies BuildOptions

/** The sizes of bundles, each of other code, gzipped: what they import is parsed once for all. */
export async function sizesOf(app: string, codes: Readonly<Record<string, string>>): Promise<Record<string, number>> {
  const code: Plugin = {
    name: 'code',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^code:/ }, ({ path }) => ({ path: path.slice('code:'.length), namespace: 'code' }))
      onLoad({ filter: /./, namespace: 'code' }, ({ path }) => ({ contents: codes[path] as string, resolveDir: app }))
    },
  }
  const names = Object.keys(codes)
  const { outputFiles } = await build({
    ...MINIFIED,
    entryPoints: names.map((name) => ({ in: `code:${name}`, out: name })),
    outdir: app,
    plugins: [code],
  })
  return Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path, '.js'), gzipSync(contents).length]))
}

/** Bundles code of an app. */
export async function bundleOf(
  app: string,
  code: string,
  options: Pick<BuildOptions, 'format' | 'globalName' | 'plugins'> = {},
): Promise<Bundle> {
  const { outputFiles, metafile }: BuildResult<{ write: false; metafile: true }> = await build({
    ...MINIFIED,
    stdin: { contents: code, resolveDir: app },
    metafile: true,
    ...options,
  })
  const [file] = outputFiles
  const { exports = [], inputs = {} } = Object.values(metafile.outputs)[0] ?? {}
  const modules = Object.fromEntries(Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput]))
  return { text: file?.text ?? '', size: gzipSync(file?.contents ?? '').length, exports, modules }
}

/** The files that a module loads, and their bytes. */
export async function loadedBy(app: string, specifier: string): Promise<readonly [files: number, bytes: number]> {
  const { metafile } = await build({
    stdin: { contents: `import '${specifier}'`, resolveDir: app },
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: THEIRS,
    ignoreAnnotations: true,
    write: false,
    metafile: true,
  })
  const inputs = Object.entries(metafile.inputs).filter(([path]) => path !== '<stdin>')
  return [inputs.length, inputs.reduce((sum, [, { bytes }]) => sum + bytes, 0)]
}

/** The gzipped bytes of the same bundle by rolldown, which Vite builds with. */
export async function sizeByRolldown(app: string, code: string): Promise<number> {
  const entry = join(app, 'virtual-entry.js')
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    external: (name) => THEIRS.some((theirs) => matches(theirs, name)),
    plugins: [
      { name: 'entry', resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? code : null) },
    ],
  })
  const { output } = await bundle.generate({ format: 'es', minify: true, codeSplitting: false })
  return gzipSync(output[0].code).length
}

const matches = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
