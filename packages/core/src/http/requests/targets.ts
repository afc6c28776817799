/** The path and the query of a URL. */
interface Target {
  readonly url: string
  readonly path: string
  readonly query: string
  /** The fragment with its sign, which clients do not send. */
  readonly fragment: string
}

const NONE: Target = { url: '', path: '', query: '', fragment: '' }
let last = NONE

/**
 * The path and the query of a request's target or URL, as they are written: without origin and question mark. Both are
 * read at once, and again only for another URL.
 */
export function targetOf(url: string): Target {
  if (url === last.url) return last
  const [, path = '', query = '', fragment = ''] =
    /^(?:[^:/?#]+:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?(.*)$/s.exec(url) ?? []
  last = { url, path, query, fragment }
  return last
}
