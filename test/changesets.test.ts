import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = readdirSync(join(root, 'packages')).filter(
  (name) => !JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')).private,
)

/** A copy of all manifests and of the configuration of changesets, with one changeset. */
function workspace(): string {
  const copy = mkdtempSync(join(tmpdir(), 'spillway-changesets-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  const folders = ['packages', 'examples'].flatMap((parent) =>
    readdirSync(join(root, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${parent}/${name}`),
  )
  const manifests = ['.', 'bench', 'demo', 'site', 'test', ...folders].map((folder) => join(folder, 'package.json'))
  for (const file of ['pnpm-workspace.yaml', '.changeset/config.json', ...manifests])
    cpSync(join(root, file), join(copy, file))
  writeFileSync(join(copy, '.changeset/one.md'), "---\n'@spillway/memory': minor\n---\n\nA new option.\n")
  return copy
}

// Reproduces: `changeset version` failed, because the group of packages with one version contained private packages, which
// have none.
test('changesets become one version of all packages, and a changelog', () => {
  const cwd = workspace()
  const program = join(root, 'node_modules/@changesets/cli/bin.js')
  const { status, stderr } = spawnSync(process.execPath, [program, 'version'], { cwd, encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  const versions = packages.map(
    (name) => JSON.parse(readFileSync(join(cwd, 'packages', name, 'package.json'), 'utf8')).version,
  )
  expect(new Set(versions).size).toBe(1)
  expect(readFileSync(join(cwd, 'packages/memory/CHANGELOG.md'), 'utf8')).toContain(
    `## ${versions[0]}\n\n### Minor Changes\n`,
  )
  expect(existsSync(join(cwd, '.changeset/one.md'))).toBe(false)
})
