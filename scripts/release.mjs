// Publishes every package whose version the registry does not have yet: `npm run release`, in CI. With `--dry-run` it
// only says what it would do.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pnpm, program, root } from './ensure.mjs'

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
  const url = `git+https://github.com/${GITHUB_REPOSITORY}.git`
  manifest.repository = { type: 'git', url, directory: `packages/${name}` }
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

program(() => {
  const notes = pendingNotes()
  if (notes.length > 0 && !dryRun) {
    throw new Error(`${notes.join(', ')} in .changeset: run \`npx changeset version\` and commit what it writes first.`)
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
