// The sources of a revision, and what can be made of them.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The last release; undefined before the first. */
export function lastRelease(): string | undefined {
  try {
    return git('describe', '--tags', '--abbrev=0', '--match', '@spillway/core@*')
  } catch {
    return undefined
  }
}

/** Writes the packages of a commit to a folder, and returns the folder. */
export function checkout(commit: string, folder: string): string {
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('git', ['archive', commit, 'packages', 'tsconfig.base.json'], {
    cwd: root,
    maxBuffer: 2 ** 30,
  })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  return folder
}

/** Resolves imports of the packages to the sources in a folder. */
const sourcesIn = (folder: string): Plugin => ({
  name: 'sources',
  setup({ onResolve }) {
    onResolve({ filter: /^@spillway\// }, ({ path }) => {
      const [, name = '', entry = ''] = /^@spillway\/([^/]+)(\/.+)?$/.exec(path) ?? []
      const at = join(folder, 'packages', name)
      const { exports } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))
      return { path: join(at, exports[`.${entry}`]) }
    })
  },
})

/** Bundles a module with the packages of a folder, and returns the code. */
export async function bundled(code: string, folder: string, minify: boolean): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: join(root, 'bench/speed'), loader: 'ts' },
    plugins: [sourcesIn(folder)],
    bundle: true,
    minify,
    format: 'esm',
    platform: 'node',
    write: false,
  })
  return (outputFiles[0] as { contents: Uint8Array }).contents
}
