import { existsSync } from 'node:fs'
import { join, posix, relative } from 'node:path'
import { placeOf, REPOSITORY, root } from './places.ts'

/** Links of packages' READMEs are absolute, as registries show them without the repository. */
const IN_REPOSITORY = new RegExp(`^${REPOSITORY}/(?:blob|tree)/main/(.+)$`)

/** The fields of a markdown-it token that matter for links. */
interface Token {
  readonly type: string
  tag: string
  attrs: [string, string][] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

/** Converts links between files of the repository to links of the site. A link to a source file becomes plain text. */
export function linkWithin(page: string, tokens: readonly Token[]): void {
  let dropped = false
  for (const token of tokens) {
    if (token.type === 'link_close' && dropped) token.tag = 'span'
    if (token.type !== 'link_open') continue
    const href = token.attrGet('href') ?? ''
    const link = linkOf(page, href)
    dropped = link === undefined
    if (link === undefined) Object.assign(token, { tag: 'span', attrs: null })
    else token.attrSet('href', link)
  }
}

function linkOf(page: string, href: string): string | undefined {
  const [, inRepository] = IN_REPOSITORY.exec(href) ?? []
  if (inRepository !== undefined) return siteLink('.', inRepository) ?? href
  if (/^(\w+:|[/#])/.test(href)) return href
  return siteLink(posix.dirname(relative(root, page).replaceAll('\\', '/')), href)
}

/** The address on the site of a path relative to a folder of the repository. A folder stands for its README. */
function siteLink(folder: string, href: string): string | undefined {
  const [path = '', hash] = href.split('#')
  const target = posix.join(folder, path)
  const source = target.endsWith('.md') ? target : posix.join(target, 'README.md')
  const place = existsSync(join(root, source)) ? placeOf(source) : undefined
  return place && `/${place}${hash === undefined ? '' : `#${hash}`}`
}
