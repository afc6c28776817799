/**
 * The segments of a path, read as leniently as the most lenient router does: without empty ones, in lower case,
 * decoded. Otherwise another spelling of the path would evade the policy.
 */
export const segmentsOf = (path: string): readonly string[] =>
  path
    .split('/')
    .filter((segment) => segment !== '')
    .map(literalSegment)

/** The canonical spelling of a segment. */
export const literalSegment = (segment: string): string => decoded(segment).toLowerCase()

/**
 * The readings of a path: if it has empty segments, with these, which Fastify accepts as parameters; as other routers
 * read it; and if that differs, as file servers and proxies do, which decode slashes, treat backslashes as slashes, and
 * resolve dots.
 */
export function interpretationsOf(path: string | readonly string[]): readonly (readonly string[])[] {
  if (typeof path !== 'string') return path.flatMap(interpretationsOf)
  const readings: (readonly string[])[] = path.includes('//') ? [path.slice(1).split('/').map(literalSegment)] : []
  readings.push(segmentsOf(path))
  if (AMBIGUOUS.test(path)) readings.push(resolved(path))
  return readings
}

/**
 * The readings of a path whose slashes end or surround empty parameters, as Fastify and h3 1 have them: with all slashes,
 * without the last one, and without doubled ones.
 */
export function emptyReadingsOf(path: string | readonly string[]): readonly (readonly string[])[] {
  if (typeof path !== 'string') return path.flatMap(emptyReadingsOf)
  if (!path.endsWith('/')) return []
  const whole = path.slice(1).split('/').map(literalSegment)
  return [whole, whole.slice(0, -1), [...segmentsOf(path), '']]
}

const AMBIGUOUS = /[%\\]|\/\.{1,2}(?:\/|$)/

/** The canonical spelling of a path: `/login` for `//x/../LOGIN/`. */
export const plainPath = (path: string | readonly string[]): string =>
  `/${interpretationsOf(firstReading(path)).at(-1)?.join('/')}`

/** The router's own reading of a path. */
export const firstReading = (path: string | readonly string[]): string =>
  typeof path === 'string' ? path : (path[0] ?? '')

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

/** A path without a prefix of as many segments; undefined if there is no prefix. */
export function pathBelow(prefix: string, path: string | readonly string[]): string | undefined {
  const depth = segmentsOf(prefix).length
  return depth === 0 ? undefined : `/${segmentsOf(firstReading(path)).slice(depth).join('/')}`
}
