// Publishes every package whose version the registry does not have yet: `npm run release`, in CI. With `--dry-run` it
// only says what it would do.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDependencies, pnpm, program } from './ensure.mjs'
import { root } from './install.mjs'

const dryRun = process.argv.includes('--dry-run')
const { GITHUB_REPOSITORY } = process.env

/** Notes that have not become versions yet: what is published would lack a changelog. */
function pendingNotes() {
  return readdirSync(join(root, '.changeset')).filter((file) => file.endsWith('.md') && file !== 'README.md')
}

/** Says where a package comes from: the registry compares it with the statement of where it was built. */
function nameRepository(/** @type {string} */ name) {
  const file = join(root, 'packages', name, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  const [home, directory] = [`https://github.com/${GITHUB_REPOSITORY}`, `packages/${name}`]
  manifest.repository = { type: 'git', url: `git+${home}.git`, directory }
  manifest.homepage = `${home}/tree/main/${directory}#readme`
  manifest.bugs = `${home}/issues`
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

/** What is published is what the sources say now. */
function build() {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], { stdio: 'inherit' })
  if (status !== 0) throw new Error('The packages do not build.')
}

program(() => {
  ensureDependencies()
  const notes = pendingNotes()
  if (notes.length > 0 && !dryRun) {
    throw new Error(`${notes.join(', ')} in .changeset: run \`npx changeset version\` and commit what it writes first.`)
  }
  build()
  const { homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (GITHUB_REPOSITORY && homepage !== `https://github.com/${GITHUB_REPOSITORY}`) {
    throw new Error(
      `Errors link to ${homepage}: name this repository in package.json and packages/core/src/common/errors.ts.`,
    )
  }
  if (GITHUB_REPOSITORY) for (const name of readdirSync(join(root, 'packages'))) nameRepository(name)
  else if (!dryRun)
    throw new Error('Releases are made by the Release workflow, so that their provenance can be stated.')
  pnpm(
    'publish',
    '--recursive',
    '--access',
    'public',
    '--no-git-checks',
    ...(dryRun ? ['--dry-run'] : ['--provenance']),
  )
})
