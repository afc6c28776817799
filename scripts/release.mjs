// Publishes every package whose version the registry does not have yet: `npm run release`, in CI. With `--dry` it rehearses
// that with a registry on this machine, and installs from there.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDependencies, pnpm, program } from './ensure.mjs'
import { root } from './install.mjs'

const { GITHUB_REPOSITORY } = process.env

/** Notes that have not become a version yet: what is published would lack a changelog. */
function pendingNotes() {
  return readdirSync(join(root, '.changeset')).filter((file) => file.endsWith('.md') && file !== 'README.md')
}

/** @param {string[]} args */
function node(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error(`\`node ${args.join(' ')}\` failed.`)
}

function publish() {
  const notes = pendingNotes()
  if (notes.length > 0) {
    throw new Error(`${notes.join(', ')} in .changeset: run \`npm run version\` and commit what it writes first.`)
  }
  const { homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (GITHUB_REPOSITORY === undefined) {
    throw new Error('Releases are made by the Release workflow, so that their provenance can be stated.')
  }
  // Their manifests and errors link to it.
  if (homepage !== `https://github.com/${GITHUB_REPOSITORY}`) {
    throw new Error(`The packages are of ${homepage}, not of ${GITHUB_REPOSITORY}: see test/links.test.ts.`)
  }
  pnpm('publish', '--recursive', '--access', 'public', '--no-git-checks', '--provenance')
}

program(() => {
  ensureDependencies()
  // What is published is what the sources say now.
  node('scripts/build.mjs')
  if (process.argv.includes('--dry')) node('--import', 'tsx', 'test/release/main.ts')
  else publish()
})
