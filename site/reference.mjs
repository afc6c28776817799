// The reference: what the packages export, from their doc comments, as Markdown pages in site/reference.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application } from 'typedoc'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * What can be imported, such as `@spillway/core/http`, and the source that it is. An export of several packages
 * belongs to the first one: core and memory come first.
 */
const entries = [...new Set(['core', 'memory', ...readdirSync(join(root, 'packages'))])]
  .filter((name) => existsSync(join(root, 'packages', name, 'package.json')))
  .flatMap((name) => {
    const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
    return Object.entries(manifest.private ? {} : manifest.exports).map(([path, source]) => ({
      entry: `@spillway/${name}${path.slice(1)}`,
      source: join(root, 'packages', name, source),
    }))
  })
/**
 * What core exports for authors of stores: the states and the steps of kernels. It has a page of its own, so that the page of
 * core begins with what users call.
 */
const forStores = {
  entry: '@spillway/core, for authors of stores',
  page: 'core-stores',
  source: join(root, 'site/.cache/reference/core-stores.ts'),
}
const coreIndex = readFileSync(join(root, 'packages/core/src/index.ts'), 'utf8')
const ofStores = [
  ...coreIndex.matchAll(/^export (?:type )?\{[^}]+\} from '\.\/(?:kernels\/[\w-]+|stores\/store)\.ts'$/gm),
]
mkdirSync(join(root, 'site/.cache/reference'), { recursive: true })
writeFileSync(forStores.source, ofStores.map(([line]) => line.replace(/'.+'$/, "'@spillway/core'")).join('\n'))
entries.unshift(forStores)
// The page of the first entry that exports a name has it: what only slots need is on theirs.
entries.sort((a, b) => Number(b.entry.endsWith('/in-flight')) - Number(a.entry.endsWith('/in-flight')))
/** The page of an entry: `core-http`. @param {string} entry */
const pageOf = (entry) => entry.replace('@spillway/', '').replaceAll('/', '-')
const titles = new Map(entries.map(({ entry, page = pageOf(entry) }) => [page, entry]))
/** TypeDoc names a module after its file, from where all of them are: `packages/core/src/http`. */
const pages = new Map(
  entries.map(({ entry, source, page = pageOf(entry) }) => [
    relative(root, source)
      .replaceAll('\\', '/')
      .replace(/(\/index)?\.ts$/, ''),
    page,
  ]),
)

/** What users look for first, in this order; then the rest as the sources have it. */
const FIRST = [
  'rateLimit',
  'rateLimiter',
  'perSecond',
  'perMinute',
  'perHour',
  'perDay',
  'tokenBucket',
  'fixedWindow',
  'slidingWindow',
  'slidingLog',
  'leakyBucket',
  'RateLimitOptions',
  'RateLimiterOptions',
  'RateLimiter',
  'SyncRateLimiter',
  'Decision',
  'Reservation',
]
/** @param {string} name */
const rankOf = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)

const app = await Application.bootstrapWithPlugins({
  entryPoints: entries.map(({ source }) => source),
  entryPointStrategy: 'resolve',
  plugin: ['typedoc-plugin-markdown'],
  outputs: [{ name: 'markdown', path: join(root, 'site/reference') }],
  tsconfig: join(root, 'site/tsconfig.reference.json'),
  skipErrorChecking: true, // tsc has done that
  readme: 'none',
  disableSources: true,
  excludeExternals: true,
  excludeInternal: true,
  router: 'module',
  pageTitleTemplates: { module: ({ name }) => titles.get(name) },
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  expandObjects: true,
  expandParameters: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  sort: ['source-order'],
  groupOrder: ['Functions', 'Interfaces', 'Classes', '*'],
  logLevel: 'Warn',
  treatWarningsAsErrors: true,
})
const project = await app.convert()
if (!project) throw new Error('TypeDoc could not read the sources.')
// A name that extends another has only what it adds: the page of the other has the rest.
for (const type of Object.values(project.reflections)) {
  const inherited = (type.children ?? []).filter(({ inheritedFrom }) => inheritedFrom?.reflection)
  if (inherited.length === 0) continue
  type.children = type.children.filter((child) => !inherited.includes(child))
  for (const group of type.groups ?? []) {
    group.children = group.children.filter((child) => !inherited.includes(child))
  }
  type.groups = type.groups?.filter(({ children }) => children.length > 0)
}
for (const module of project.children ?? []) {
  module.name = pages.get(module.name)
  for (const group of module.groups ?? []) group.children.sort((a, b) => rankOf(a.name) - rankOf(b.name))
}
await app.generateOutputs(project)

// The signature has the types: a table that has nothing else, and a result that nothing is said of, would repeat them.
const BARE = [
  /^#+ (?:Type )?Parameters\n\n\| (?:Type )?Parameter(?: \| (?:Type|Default type))* \|\n(?:\|.*\n)+\n/gm,
  /^#+ Returns\n\n(?!#).+\n\n(?=#|\*\*\*)/gm,
  /^#+ Returns\n\n(?!#).+\n$/gm,
]
for (const name of readdirSync(join(root, 'site/reference'))) {
  const file = join(root, 'site/reference', name)
  const text = BARE.reduce((page, part) => page.replace(part, ''), readFileSync(file, 'utf8'))
  // Names that another page explains are one paragraph.
  const listed = text
    .replace(/^### .+\n\n(?:Re-exports|Renames and re-exports) (\[.+\]\(.+\))\n(?:\n\*\*\*\n\n)?/gm, '$1,\n')
    .replace(/\),\n(?!\[)/g, ')\n')
  writeFileSync(file, listed)
}
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
