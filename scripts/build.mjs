// Builds every package anew: files that a deleted source left in dist would be published too. The ES modules of a package
// are built from its sources; its CommonJS modules, in dist/cjs, from its ES modules.

import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './install.mjs'

// What an entry exports by default is also what require() returns, with the other exports as its properties.
const CALLABLE = `
module.exports = Object.assign(exports.default, exports)
Object.defineProperty(module.exports, '__esModule', { value: true })
`

/** @param {string} folder */
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

// The simulator is a package of its own, and is not published.
const packages = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name))
  .filter((folder) => !manifestOf(folder).private)
for (const folder of packages) rmSync(join(folder, 'dist'), { recursive: true, force: true })

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-b', ...packages], { stdio: 'inherit' })
process.exitCode = status ?? 1
if (status === 0) for (const folder of packages) await buildCommonJs(folder)

/** Builds the CommonJS modules of a package: one for each entry, and what the entries share. @param {string} folder */
async function buildCommonJs(folder) {
  const dist = join(folder, 'dist')
  const to = join(dist, 'cjs')
  const { publishConfig, bin = {} } = manifestOf(folder)
  /** @type {{ default: { default: string } }[]} */
  const entries = Object.values(publishConfig.exports)
  const files = entries.map((entry) => join(folder, entry.default.default))
  const input = Object.fromEntries(files.map((file) => [relative(dist, file).replace(/\.js$/, ''), file]))
  // A program starts as CommonJS: to load the files of its packages takes half the time of loading all their modules.
  for (const file of Object.values(bin)) {
    const name = basename(file, '.js')
    input[name] = join(dist, 'program', `${name}.js`)
  }
  // What is imported by name stays; the compiler's own helpers become a part of the package.
  const bundle = await rolldown({ input, external: /^(?!@oxc-project\/|\w:)[@\w]/, platform: 'node' })
  const { output } = await bundle.write({
    dir: to,
    format: 'cjs',
    // As in the ES modules: sloppy code assigns to frozen objects without an error, and so without effect.
    strict: true,
    exports: 'named',
    esModule: true,
    chunkFileNames: '[name].js',
  })
  for (const chunk of output) {
    if (chunk.type === 'chunk' && chunk.isEntry && chunk.exports.includes('default')) {
      appendFileSync(join(to, chunk.fileName), CALLABLE)
    }
  }
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.d.ts') && !file.startsWith('cjs')) copyDeclarations(join(dist, file), join(to, file))
  }
  writeFileSync(join(to, 'package.json'), '{ "type": "commonjs", "sideEffects": false }\n')
}

/** The declarations say the same of both; only the map would lead elsewhere. @param {string} from @param {string} to */
function copyDeclarations(from, to) {
  cpSync(from, to)
  writeFileSync(to, readFileSync(to, 'utf8').replace(/^\/\/# sourceMappingURL=.*\n?/m, ''))
}
