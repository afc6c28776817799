import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The parts of a package.json that are read here. */
export interface Manifest {
  readonly version: string
  readonly private?: boolean
  readonly packageManager?: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly publishConfig?: { readonly exports: Readonly<Record<string, { readonly default: { types?: string } }>> }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** The folders in packages/ that are published, each as `@spillway/NAME`. */
export const names: readonly string[] = readdirSync(join(root, 'packages')).filter(
  (name) => existsSync(join(root, 'packages', name, 'src')) && !readManifest(join(root, 'packages', name)).private,
)

/** All folders of the workspace, the private ones in a package or a test, too. */
export function workspaceFolders(): readonly string[] {
  const [, list = ''] =
    /^packages:\n((?: +- .*\n)+)/m.exec(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')) ?? []
  const globs = [...list.matchAll(/- (\S+)/g)].map(([, glob]) => glob as string)
  return globs.flatMap((glob) => {
    if (!glob.endsWith('/*')) return [glob]
    const parent = glob.slice(0, -2)
    return readdirSync(join(root, parent))
      .map((name) => `${parent}/${name}`)
      .filter((folder) => existsSync(join(root, folder, 'package.json')))
  })
}

/** Packs every package as for publishing, and returns the path of each tarball. */
export function packAll(folder: string): ReadonlyMap<string, string> {
  const unbuilt = names.filter((name) => !existsSync(join(root, 'packages', name, 'dist')))
  if (unbuilt.length > 0) throw new Error(`no dist in ${unbuilt.join(', ')}: run \`npm run build\` first`)
  mkdirSync(folder, { recursive: true })
  const { packageManager = 'pnpm' } = readManifest(root)
  const filters = names.flatMap((name) => ['--filter', `@spillway/${name}`])
  const pack = ['--yes', packageManager, ...filters, 'pack', '--pack-destination', folder]
  execFileSync('npx', pack, { cwd: root, shell: process.platform === 'win32', stdio: 'pipe' })
  return new Map(
    names.map((name) => [
      name,
      join(folder, `spillway-${name}-${readManifest(join(root, 'packages', name)).version}.tgz`),
    ]),
  )
}
