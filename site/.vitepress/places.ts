import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where the repository is. */
export const REPOSITORY: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).homepage

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The source files of pages, and their paths on the site. Other files are not pages. */
const PLACES: readonly (readonly [source: RegExp, place: string])[] = [
  [/^docs\/(.+)$/, '$1'],
  [/^packages\/([^/]+)\/README\.md$/, 'packages/$1.md'],
  [/^examples\/README\.md$/, 'examples/index.md'],
  [/^examples\/([^/]+)\/README\.md$/, 'examples/$1.md'],
  [/^site\/reference\/(.+)$/, 'reference/$1'],
  [/^site\/(embed)\.md$/, '$1.md'],
  [/^(ARCHITECTURE|CONTRIBUTING)\.md$/, '$1.md'],
]

/** The page of a file of the repository; undefined if the file is not a page. */
export function placeOf(source: string): string | undefined {
  const [from, to] = PLACES.find(([from]) => from.test(source)) ?? []
  return from && to ? source.replace(from, to).replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase()) : undefined
}
