import { decoded, PATH } from './decoded.ts'

/** The readings of a path: routers, file servers and proxies differ about what a path is. */
export interface PathReadings {
  /**
   * Each reading by its segments: if it has empty segments, with these, which Fastify accepts as parameters; as other routers
   * read it; and if that differs, as file servers and proxies do, which decode slashes, treat backslashes as slashes, and
   * resolve dots.
   */
  readonly readings: readonly (readonly string[])[]
  /**
   * The readings of a path whose slashes end or surround empty parameters, as Fastify and h3 1 have them: with all slashes,
   * without the last one, and without doubled ones.
   */
  readonly empty: readonly (readonly string[])[]
}

/** Reads a path as leniently as the most lenient router does: otherwise another spelling of it would evade the policy. */
export function readPath(path: string): PathReadings {
  const separators: number[] = []
  const text = decoded(path, PATH, (isSlash, at) => separators.push(isSlash ? at : ~at))
  separators.push(text.length)
  const whole: string[] = []
  const resolved: string[] = []
  let isAmbiguous = false
  let start = separators[0] === 0 && text !== '' ? 1 : 0
  let from = start
  for (const separator of separators.slice(start)) {
    const [at, splits] = separator < 0 ? [~separator, false] : [separator, true]
    if (resolve(resolved, text.slice(from, at)) || !splits) isAmbiguous = true
    from = at + 1
    if (!splits) continue
    whole.push(text.slice(start, at))
    start = from
  }
  return readingsOf(whole, isAmbiguous ? [resolved] : [])
}

/** Appends a part of a path to those before it. Returns whether it is dots. */
function resolve(parts: string[], part: string): boolean {
  const isDots = part === '.' || part === '..'
  if (part === '..') parts.pop()
  else if (part !== '' && !isDots) parts.push(part)
  return isDots
}

function readingsOf(whole: readonly string[], resolved: readonly (readonly string[])[]): PathReadings {
  const segments = whole.filter((segment) => segment !== '')
  const ends = whole.at(-1) === ''
  const isDoubled = whole.length > segments.length + (ends ? 1 : 0)
  return {
    readings: [...(isDoubled ? [whole] : []), segments, ...resolved],
    empty: ends ? [whole, whole.slice(0, -1), [...segments, '']] : [],
  }
}

/** The canonical spelling of a segment or a path: decoded, and in lower case. An encoded slash is no slash for routers. */
export const canonical = (text: string): string => decoded(text, PATH)

/** The canonical spelling of a path: `/login` for `//x/../LOGIN/`. */
export const plainPath = (path: string | readonly string[]): string => plainReading(readPath(firstReading(path)))

/** The canonical spelling of a path by its readings. */
export const plainReading = ({ readings }: PathReadings): string => `/${readings.at(-1)?.join('/')}`

/** The router's own reading of a path. */
export const firstReading = (path: string | readonly string[]): string =>
  typeof path === 'string' ? path : (path[0] ?? '')

/** A path without a prefix of as many segments; undefined if there is no prefix. What is below it is not visited. */
export function pathBelow(prefix: string, path: string | readonly string[]): string | undefined {
  const depth = prefix.split(/[^/]+/).length - 1
  if (depth === 0) return undefined
  const text = firstReading(path)
  const [above = text] = new RegExp(`^(?:/+[^/]+){${depth}}`).exec(text) ?? []
  return text.slice(above.length) || '/'
}
