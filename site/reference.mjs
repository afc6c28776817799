// The reference: what the packages export, from their doc comments, as Markdown pages in site/reference.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
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
/** The page of an entry: `core-http`. @param {string} entry */
const pageOf = (entry) => entry.replace('@spillway/', '').replaceAll('/', '-')
const titles = new Map(entries.map(({ entry }) => [pageOf(entry), entry]))
/** TypeDoc names a module after its file, from where all of them are: `core/src/http`. */
const pages = new Map(
  entries.map(({ entry, source }) => [
    relative(join(root, 'packages'), source)
      .replaceAll('\\', '/')
      .replace(/(\/index)?\.ts$/, ''),
    pageOf(entry),
  ]),
)

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
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  sort: ['source-order'],
  groupOrder: ['Functions', 'Interfaces', 'Classes', '*'],
  logLevel: 'Warn',
  treatWarningsAsErrors: true,
})
const project = await app.convert()
if (!project) throw new Error('TypeDoc could not read the sources.')
for (const module of project.children ?? []) module.name = pages.get(module.name)
await app.generateOutputs(project)
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
