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

const GUIDES = [
  'keys',
  'cost',
  'tiers',
  'json-rules',
  'headers',
  'cors',
  'stores',
  'redis-eviction',
  'scale',
  'failure',
  'overload',
  'brute-force',
  'billing',
  'without-http',
  'testing',
  'simulation',
  'edge',
  'languages',
  'production',
  'troubleshooting',
]

const group = (text: string, items: Item[], collapsed = false): Item[] =>
  items.length === 0 ? [] : [{ text, items, collapsed }]

const reference = folder('site/reference')
/** Whether a page of the reference is not only for authors of stores and adapters. */
const isForUsers = ({ link = '' }: Item): boolean =>
  !/(core-internal|core-stores|core-http|conformance)\.md$/.test(link)

/** The sidebar of every page, read from the repository. */
export const sidebar = (): Item[] => [
  ...group('Get started', pages('docs/start.md', 'docs/playground.md')),
  ...group('Guides', pages(...GUIDES.map((name) => `docs/guides/${name}.md`))),
  ...group(
    'Background',
    pages(
      'docs/options.md',
      'docs/features.md',
      'docs/algorithms.md',
      'docs/errors.md',
      'docs/comparison.md',
      'docs/performance.md',
      'docs/runtimes.md',
      'docs/decisions.md',
      'ARCHITECTURE.md',
      'docs/internals.md',
    ),
  ),
  ...group('Errors', folder('docs/errors'), true),
  ...group('Migrate', folder('docs/migration'), true),
  ...group('Packages', folder('packages'), true),
  ...group('Examples', [...pages('examples/README.md'), ...folder('examples')], true),
  ...group('Reference', reference.filter(isForUsers), true),
  ...group(
    'Reference for authors',
    reference.filter((each) => !isForUsers(each)),
    true,
  ),
]
