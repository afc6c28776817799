// Turns the notes in .changeset into the next version of all packages, and into a section of CHANGELOG.md: `npm run version`.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './install.mjs'

const KINDS = ['major', 'minor', 'patch']

/** A note, and the largest change that it makes to a version. @param {string} text */
function noteOf(text) {
  const [, head = '', body = ''] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? []
  return { kind: KINDS.find((kind) => head.includes(`: ${kind}`)) ?? 'patch', body: body.trim() }
}

/** The changelog with a section for a version. @param {string} changelog @param {string} version @param {string[]} texts */
export function withSection(changelog, version, texts) {
  const notes = texts.map(noteOf).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
  const list = notes.map(({ body }) => `- ${body.replaceAll('\n', '\n  ')}`).join('\n')
  return changelog.replace('\n## ', `\n## ${version}\n\n${list}\n\n## `)
}

/** @param {string} folder the workspace */
export function version(folder) {
  const notes = readdirSync(join(folder, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md')
  if (notes.length === 0) return console.log('spillway: no notes in .changeset, so there is no new version')
  const texts = notes.map((name) => readFileSync(join(folder, '.changeset', name), 'utf8').replaceAll('\r\n', '\n'))
  const program = join(root, 'node_modules/@changesets/cli/bin.js')
  const { status } = spawnSync(process.execPath, [program, 'version'], { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error('`changeset version` failed')
  const { version } = JSON.parse(readFileSync(join(folder, 'packages/core/package.json'), 'utf8'))
  const file = join(folder, 'CHANGELOG.md')
  writeFileSync(file, withSection(readFileSync(file, 'utf8'), version, texts))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) version(process.argv[2] ?? root)
