import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'
import { placeOf, root } from './places.ts'

type Item = DefaultTheme.SidebarItem

/** A page, titled by its first heading without backticks. */
function page(source: string): Item {
  const text = readFileSync(join(root, source), 'utf8')
  const [, heading] = /^# (.+)$/m.exec(text) ?? []
  return { text: heading?.replaceAll('`', '') ?? source, link: `/${placeOf(source)}` }
}

const pages = (...sources: readonly string[]): Item[] =>
  sources.filter((source) => existsSync(join(root, source))).map(page)

/** The pages of a folder: its Markdown files, or the READMEs of the folders in it. */
function folder(path: string): Item[] {
  if (!existsSync(join(root, path))) return []
  const names = readdirSync(join(root, path)).sort()
  const files = names
    .filter((name) => name.endsWith('.md') && !['index.md', 'README.md'].includes(name))
    .map((name) => `${path}/${name}`)
  return pages(...files, ...names.map((name) => `${path}/${name}/README.md`))
}

const guides = (...names: readonly string[]): Item[] => pages(...names.map((name) => `docs/guides/${name}.md`))
const readmes = (...names: readonly string[]): Item[] => pages(...names.map((name) => `packages/${name}/README.md`))

const group = (text: string, items: Item[], collapsed = false): Item[] =>
  items.length === 0 ? [] : [{ text, items, collapsed }]

const reference = folder('site/reference')
/** Whether a page of the reference is not only for authors of stores and adapters. */
const isForUsers = ({ link = '' }: Item): boolean =>
  !/(core-internal|core-stores|core-http|conformance)\.md$/.test(link)

/** The sidebar of every page, read from the repository. */
export const sidebar = (): Item[] => [
  ...group('Learn', [
    ...pages('docs/start.md', 'docs/playground.md', 'docs/algorithms.md'),
    ...guides('keys', 'cost', 'tiers', 'headers', 'brute-force', 'overload', 'without-http', 'testing'),
    ...pages('docs/faq.md', 'docs/glossary.md'),
  ]),
  ...group('Recipes', [
    ...pages('docs/recipes.md', 'examples/README.md'),
    ...guides('billing', 'calling-apis', 'cors', 'edge', 'json-rules', 'languages'),
  ]),
  ...group('Stores', [
    ...guides('stores', 'failure', 'scale', 'redis-eviction'),
    ...readmes('redis', 'postgres', 'cloudflare'),
  ]),
  ...group('Operate', [
    ...guides('production', 'troubleshooting', 'simulation'),
    ...readmes('cli', 'admin', 'opentelemetry'),
    ...pages('docs/performance.md', 'docs/comparison.md', 'docs/runtimes.md'),
  ]),
  ...group('Edge cases', guides('keys-edge-cases'), true),
  ...group('API', pages('docs/options.md', 'docs/features.md', 'docs/errors.md')),
  ...group('Errors', folder('docs/errors'), true),
  ...group('Migrate', folder('docs/migration'), true),
  ...group('Packages', folder('packages'), true),
  ...group('Examples', folder('examples'), true),
  ...group('Design', pages('docs/decisions.md', 'ARCHITECTURE.md', 'docs/internals.md'), true),
  ...group('Reference', reference.filter(isForUsers), true),
  ...group(
    'Reference for authors',
    reference.filter((each) => !isForUsers(each)),
    true,
  ),
]
