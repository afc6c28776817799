import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { filesIn } from './files.ts'

// The README of a package is read on a registry's page and in node_modules, so its links are absolute. Links of documents
// to other documents are checked by `npm run words`.

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const { homepage } = JSON.parse(read('package.json')) as { homepage: string }

interface Manifest {
  readonly private?: boolean
  readonly homepage?: string
  readonly bugs?: string
  readonly repository?: { readonly url: string; readonly directory: string }
}

const published = readdirSync(join(root, 'packages'))
  .map((name) => `packages/${name}`)
  .filter((folder) => !(JSON.parse(read(`${folder}/package.json`)) as Manifest).private)

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** The anchors of documents, by path. */
const known = new Map<string, readonly string[]>()

function anchorsOf(path: string): readonly string[] {
  const anchors = known.get(path) ?? anchorsIn(path)
  known.set(path, anchors)
  return anchors
}

/** The anchors of a document, and of its elements with an id. */
function anchorsIn(path: string): readonly string[] {
  const text = read(path).replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading as string))
  return [...headings, ...[...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id as string)]
}

/** Why a link of ours leads nowhere; undefined if it does not. */
function fault(link: string): string | undefined {
  const [, kind, path = '', anchor] = /\/(blob|tree)\/main\/([^#]+)(?:#(.+))?$/.exec(link) ?? []
  if (kind === undefined) return undefined
  const file = join(root, decodeURIComponent(path))
  if (!existsSync(file)) return `${link}: no such file`
  if (statSync(file).isDirectory() !== (kind === 'tree')) return `${link}: a file has blob, a folder tree`
  const document = kind === 'tree' ? posix.join(path, 'README.md') : path
  return anchor === undefined || anchorsOf(document).includes(anchor) ? undefined : `${link}: no such section`
}

const linksIn = (text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string)

describe.each(published)('%s', (folder) => {
  test('has a README whose links work anywhere', () => {
    const links = linksIn(read(`${folder}/README.md`))
    expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([])
    expect(links.map(fault).filter((each) => each !== undefined)).toEqual([])
  })

  test('says where it is from', () => {
    const manifest = JSON.parse(read(`${folder}/package.json`)) as Manifest
    expect(manifest).toMatchObject({
      homepage: `${homepage}/tree/main/${folder}#readme`,
      bugs: `${homepage}/issues`,
      repository: { type: 'git', url: `git+${homepage}.git`, directory: folder },
    })
  })
})

test('absolute links to the repository in other documents, and in the code, lead somewhere', () => {
  const files = [
    'README.md',
    'CHANGELOG.md',
    ...filesIn('docs', '.md'),
    ...published.flatMap((path) => filesIn(`${path}/src`, '.ts')),
  ]
  const inRepository = new RegExp(`${homepage}/(?:blob|tree)/main/[\\w./#-]*[\\w/-]`, 'g')
  const links = files.flatMap((path) => [...read(path).matchAll(inRepository)].map(([link]) => link))
  expect(links.map(fault).filter((each) => each !== undefined)).toEqual([])
})

test('a link that leads nowhere is found', () => {
  expect(fault(`${homepage}/blob/main/docs/nowhere.md`)).toContain('no such file')
  expect(fault(`${homepage}/blob/main/docs/start.md#nowhere`)).toContain('no such section')
  expect(fault(`${homepage}/tree/main/docs/start.md`)).toContain('a file has blob')
})
