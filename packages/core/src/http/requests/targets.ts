/** The parts of a URL. */
interface Target {
  readonly url: string
  readonly path: string
  /** Where the path starts: 0 without an origin. */
  readonly start: number
  /** The path up to a semicolon. */
  readonly plain: string
  /** The URL up to its first question mark: with a fragment that precedes it. */
  readonly beforeQuery: string
  /** The query with the fragment behind it, with its sign: what reads the query ends it there. Empty if a fragment precedes it. */
  readonly query: string
}

const NONE: Target = { url: '', path: '', start: 0, plain: '', beforeQuery: '', query: '' }
// Mounts keep the requested URL beside what they leave of it.
let [last, former] = [NONE, NONE]

/**
 * The parts of a request's target or URL, as they are written: without origin and question mark. It visits the path once, the query
 * never, and nothing if the URL is one of the last two.
 */
export function targetOf(url: string): Target {
  if (url === last.url) return last
  if (url === former.url) return former
  const [known = '', origin = '', plain = ''] = /^((?:[^:/?#]+:\/\/[^/\\?#]+)?)([^?#;]*)[^?#]*/.exec(url) ?? []
  const [start, end] = [origin.length, known.length]
  const query = url.indexOf('?', end)
  former = last
  last = {
    url,
    path: url.slice(start, end),
    start,
    plain,
    beforeQuery: query < 0 ? url : url.slice(0, query),
    query: query === end ? url.slice(end + 1) : '',
  }
  return last
}
