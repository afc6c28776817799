/**
 * The segments of a path, as lenient as the most lenient router: no empty ones, in lower case, decoded. A policy must
 * not be walked around by another spelling of the same address.
 */
export const segmentsOf = (path: string): readonly string[] =>
  path
    .split('/')
    .filter((segment) => segment !== '')
    .map(literalSegment)

/** A segment in the one spelling that all others of it come to. */
export const literalSegment = (segment: string): string => decoded(segment).toLowerCase()

/**
 * The ways in which a path is read: as routers do, and as file servers and proxies do where that differs, which decode
 * slashes, take backslashes for slashes, and resolve dots.
 */
export function readingsOf(path: string | readonly string[]): readonly (readonly string[])[] {
  if (typeof path !== 'string') return path.flatMap(readingsOf)
  const segments = segmentsOf(path)
  return AMBIGUOUS.test(path) ? [segments, resolved(path)] : [segments]
}

const AMBIGUOUS = /[%\\]|\/\.{1,2}(?:\/|$)/

/** A path in the one spelling that all others of it come to: `/login` for `//x/../LOGIN/`. */
export const plainPath = (path: string | readonly string[]): string =>
  `/${readingsOf(typeof path === 'string' ? path : (path[0] ?? ''))
    .at(-1)
    ?.join('/')}`

function resolved(path: string): readonly string[] {
  const segments: string[] = []
  for (const segment of path.split('/').map(decoded).join('/').toLowerCase().split(/[/\\]/)) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return segments
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
