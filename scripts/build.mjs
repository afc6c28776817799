// Builds every package anew, into what users install: `dist` holds one file for each entry, and one of what entries share, as
// ES modules and as CommonJS, with their declarations. They are bundled from what the compiler writes into `build`.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { root } from './install.mjs'

// What an entry exports by default is also what require() returns, with the other exports as its properties.
const CALLABLE = `
module.exports = Object.assign(exports.default, exports)
Object.defineProperty(module.exports, '__esModule', { value: true })
`

/** What is not about HTTP, or slots need of it: who imports a store or a limiter loads no more. */
const BELOW_HTTP =
  /[\\/]build[\\/](?!http[\\/](?!pipeline[\\/](?:calls|verdict)\.)|features[\\/](?!settling[\\/]open-corrections\.))/

/**
 * All that entries share becomes one file, and what is about HTTP another: to find and read a file takes longer than the code in
 * most of them. @param {string} name
 */
const sharedAs = (name) => ({
  chunkFileNames: '[name].js',
  // Names of two letters would stand beside the whole names, in each file that imports them.
  minifyInternalExports: false,
  codeSplitting: {
    groups: [
      // What is for another version of a framework: its types are others.
      { name: `v1/${name}`, test: /[\\/]build[\\/]v1[\\/]/, minShareCount: 2, priority: 2 },
      { name, test: BELOW_HTTP, minShareCount: 2, priority: 1 },
      { name: name.replace('shared', 'http-shared'), minShareCount: 2 },
    ],
  },
})

/** What is imported by name stays an import; the compiler's own helpers become a part of the package. */
const external = /^(?!@oxc-project\/|\w:)[@\w]/

/** @typedef {Record<string, string>} Input a path in `build` for each file of `dist`, without extensions */

/** @param {string} folder */
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** @param {string} folder */
async function bundle(folder) {
  const { exports, publishConfig, bin = {}, dependencies, peerDependencies } = manifestOf(folder)
  const dist = join(folder, 'dist')
  /** @type {Input} */
  const entries = {}
  /** @type {Input} */
  const declared = {}
  for (const [path, { default: entry }] of Object.entries(publishConfig.exports)) {
    // An entry is a file of its own name, `http.js`: a tarball has files of one name side by side, and what both formats have in
    // common is written once if it is less than the 32 kB that gzip looks back.
    const name = relative(dist, join(folder, entry.default)).replace(/\.js$/, '')
    entries[name] = join(folder, exports[path].replace(/^\.\/src\/(.+)\.ts$/, 'build/$1'))
    // What only packages of this repository import has no declarations.
    if (entry.types) declared[name] = entries[name]
  }
  // A program starts as CommonJS, which loads in half the time.
  /** @type {Input} */
  const programs = {}
  for (const file of Object.values(bin)) {
    const name = basename(file, '.js')
    programs[name] = join(folder, 'build/program', name)
  }
  await writeModules(entries, dist)
  await writeCommonJs({ ...entries, ...programs }, join(dist, 'cjs'))
  await writeDeclarations(declared, join(dist, 'cjs'))
  if (dependencies || peerDependencies) await writeDeclarations(declared, dist)
  else referToCommonJs(declared, dist)
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs", "sideEffects": false }\n')
}

/**
 * The same code with what is beyond ASCII, which stands in strings and regular expressions only, written by its number: V8 reads
 * a file of ASCII with a tenth less work. Lines are indented once: deeper levels are 1.4 % of what users download.
 * @param {string} code
 */
const asPublished = (code) =>
  code
    .replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/^\t+/gm, '\t')

/** What is left of comments is what tools read: editors show those of the declarations. */
const COMMENTS = { annotation: true, jsdoc: false, legal: false }

/** @param {Input} input @param {string} extension @param {Omit<import('rolldown').InputOptions, 'input'>} [options] */
const bundleOf = (input, extension, options) =>
  rolldown({
    input: Object.fromEntries(Object.entries(input).map(([name, path]) => [name, path + extension])),
    external,
    experimental: { attachDebugInfo: 'none' },
    ...options,
  })

/** @param {Input} input @param {string} to */
async function writeModules(input, to) {
  const bundled = await bundleOf(input, '.js', { platform: 'neutral' })
  const { output } = await bundled.write({ dir: to, format: 'es', ...sharedAs('shared'), comments: COMMENTS })
  for (const chunk of output) {
    if (chunk.type === 'chunk') writeFileSync(join(to, chunk.fileName), asPublished(chunk.code))
  }
}

/** @param {Input} input @param {string} to */
async function writeCommonJs(input, to) {
  const bundled = await bundleOf(input, '.js', { platform: 'node' })
  const { output } = await bundled.write({
    dir: to,
    format: 'cjs',
    ...sharedAs('shared'),
    comments: COMMENTS,
    // As in the ES modules: sloppy code assigns to frozen objects without an error, and so without effect.
    strict: true,
    externalLiveBindings: false,
    exports: 'named',
    esModule: true,
  })
  for (const chunk of output) {
    if (chunk.type !== 'chunk') continue
    const callable = chunk.isEntry && chunk.exports.includes('default') ? CALLABLE : ''
    const values = asPublished(withValues(chunk.code))
    const code = chunk.name === 'internal' ? asShared(values) : values
    writeFileSync(join(to, chunk.fileName), chunk.isEntry ? code + callable : withOneExport(code))
  }
}

const GETTER =
  /^Object\.defineProperty\(exports, "([\w$]+)", \{\n\tenumerable: true,\n\tget: function\(\) \{\n\t\treturn ([\w$]+);\n\t\}\n\}\);$/gm

/** Exports what never changes as values: getters take longer to make, and to read. @param {string} code */
const withValues = (code) =>
  code.replace(GETTER, (getter, exported, name) =>
    code.includes(`\nlet ${name}`) ? getter : `exports.${exported} = ${name};`,
  )

const SAME_NAMES =
  /const require_shared = require\("\.\/shared\.js"\);\n(?:exports\.([\w$]+) = require_shared\.\1;\n?)+$/

/** What exports names of the shared file is that file itself: a list of a hundred takes long to read. @param {string} code */
const asShared = (code) => (SAME_NAMES.test(code) ? '"use strict";\nmodule.exports = require("./shared.js");\n' : code)

const EXPORTS = /^(?:exports\.[\w$]+ = [\w$]+;\n?)+/gm

/** Exports by one object, which is made sooner. Nothing but these files imports it by name. @param {string} code */
const withOneExport = (code) =>
  code.replace(EXPORTS, (list) => {
    const properties = [...list.matchAll(/exports\.([\w$]+) = ([\w$]+);/g)].map(([, exported, name]) =>
      exported === name ? name : `${exported}: ${name}`,
    )
    return `Object.assign(exports, { ${properties.join(', ')} });\n`
  })

/** @param {Input} input @param {string} to */
async function writeDeclarations(input, to) {
  const plugins = [dts({ dtsInput: true, emitDtsOnly: true, sourcemap: false, tsconfig: false })]
  const bundled = await bundleOf(input, '.d.ts', { plugins })
  const { output } = await bundled.write({ dir: to, format: 'es', ...sharedAs('shared.d') })
  for (const chunk of output) {
    if (chunk.type === 'chunk' && chunk.code.includes('AsyncDisposable'))
      writeFileSync(join(to, chunk.fileName), `${DISPOSABLE}${chunk.code}`)
  }
}

/** Types of the language that a user's compiler may not know: those of Workers lack them. */
const DISPOSABLE = '/// <reference lib="esnext.disposable" />\n'

/**
 * Declarations that import nothing are the same in both formats, so that their types are, too. Others are not: a framework may
 * have types of its own for each.
 * @param {Input} input @param {string} dist
 */
function referToCommonJs(input, dist) {
  for (const name of Object.keys(input)) {
    const file = join(dist, `${name}.d.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `export * from '${'../'.repeat(name.split('/').length - 1) || './'}cjs/${name}.js'\n`)
  }
}

// The simulator is a package of its own, and is not published.
const packages = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name))
  .filter((folder) => !manifestOf(folder).private)
for (const folder of packages) {
  for (const output of ['build', 'dist']) rmSync(join(folder, output), { recursive: true, force: true })
}

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const { status } = spawnSync(process.execPath, [tsc, '-b', ...packages], { stdio: 'inherit' })
process.exitCode = status ?? 1
if (status === 0) for (const folder of packages) await bundle(folder)
