import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { names as packages, root, workspaceFolders } from './packages/pack.ts'

/** A copy of all manifests and of the configuration of changesets, with one changeset. */
function workspace(): string {
  const copy = mkdtempSync(join(tmpdir(), 'spillway-changesets-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  const manifests = ['.', ...workspaceFolders()].map((folder) => join(folder, 'package.json'))
  for (const file of ['pnpm-workspace.yaml', '.changeset/config.json', 'CHANGELOG.md', ...manifests])
    cpSync(join(root, file), join(copy, file))
  writeFileSync(join(copy, '.changeset/one.md'), "---\n'@spillway/memory': minor\n---\n\nA new option.\n")
  return copy
}

// Reproduces: `changeset version` failed, because the group of packages with one version contained private packages, which
// have none. Then a copy without the private packages in packages/h3/src/v1 and test/nestjs-10 hid that it still failed.
test('changesets become one version of all packages, and a changelog', () => {
  const cwd = workspace()
  const program = join(root, 'scripts/version.mjs')
  const { status, stderr } = spawnSync(process.execPath, [program, cwd], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  const versions = packages.map(
    (name) => JSON.parse(readFileSync(join(cwd, 'packages', name, 'package.json'), 'utf8')).version,
  )
  expect(new Set(versions).size).toBe(1)
  const changelog = readFileSync(join(cwd, 'CHANGELOG.md'), 'utf8')
  expect(changelog).toContain(`\n## ${versions[0]}\n\n- A new option.\n\n## `)
  expect(existsSync(join(cwd, '.changeset/one.md'))).toBe(false)
})

test('the changelog of the first release is read in a minute', () => {
  const [, first = ''] = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split('\n## 0.1.0\n')
  expect(first.split(/\s+/).length).toBeLessThanOrEqual(300)
})
