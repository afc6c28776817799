import { formatValue, QuotaError } from './errors.ts'

/** Characters as they are in a path, or percent-encoded. Servers differ on whether an encoded slash is a slash. */
const LITERAL = '(?:[^/?#*:(){}\\[\\]+|\\\\<>^"%\\s\\u0000-\\u001f\\u007f]|%(?!2[Ff]|5[Cc])[0-9A-Fa-f]{2})+'
/** No segment of dots, which clients and servers resolve, and no `$` at the end, which is meant as a regular expression. */
const SEGMENT = `(?::[A-Za-z_]\\w*|\\*|(?!(?:\\.|%2[Ee]){1,2}(?:/|$)|[^/]*\\$(?:/|$))${LITERAL})`

/** The regular expression, with the flag `u`, of all path patterns. */
export const PATH_PATTERN: string = `^/(?:\\*\\*)?$|^(?:/${SEGMENT})+(?:/\\*\\*)?$`

const VALID = /* @__PURE__ */ new RegExp(PATH_PATTERN, 'u')

/** A path pattern by its segments. */
export interface PathPattern {
  /** The literal segments; undefined for a segment that matches any. */
  readonly segments: readonly (string | undefined)[]
  /** Whether all paths below match, too. */
  readonly prefix: boolean
}

/**
 * Parses a path pattern; `what` names the option in the error. `literal` reads each literal segment. Throws a QuotaError for
 * an invalid pattern and proposes a valid one: a pattern that never matches would be a limit that is never enforced.
 */
export function parsePattern(what: string, pattern: string, literal: (segment: string) => string): PathPattern {
  if (!VALID.test(pattern)) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} cannot be ${formatValue(pattern)}. ${hintFor(pattern)}`)
  }
  const segments = pattern.split('/').filter((segment) => segment !== '')
  const prefix = /^\*\*?$/.test(segments.at(-1) ?? '')
  const fixed = prefix ? segments.slice(0, -1) : segments
  return { segments: fixed.map((each) => (/^[:*]/.test(each) ? undefined : literal(each))), prefix }
}

/** Reports whether the segments of a path match a pattern. */
export function matchesPattern({ segments, prefix }: PathPattern, path: readonly string[]): boolean {
  if (prefix ? path.length < segments.length : path.length !== segments.length) return false
  return segments.every((segment, i) => segment === undefined || segment === path[i])
}

/** Reports whether the text of a path begins as a pattern for all below: `/login~1` begins as `/login/*`. */
export function beginsAsPattern({ segments, prefix }: PathPattern, path: readonly string[]): boolean {
  const last = segments.length - 1
  const begins = prefix && (path[last]?.startsWith(segments[last] ?? '') ?? false)
  return begins && matchesPattern({ segments: segments.slice(0, last), prefix }, path)
}

const GRAMMAR =
  'A pattern begins with "/" and is made of literal segments, of ":name" or "*", each of which is one segment, and of "/*" or "/**" at the end, for all below. Percent-encode other characters, or match by a function.'

function hintFor(pattern: string): string {
  const [, parent] = /^(\/.*[^/])\/$/.exec(pattern) ?? []
  if (parent !== undefined && VALID.test(parent)) {
    return `Write ${formatValue(parent)} for that path alone, or ${formatValue(`${parent}/*`)} for all below it as well.`
  }
  const meant = pattern === '' ? [] : suggestionFor(pattern)
  if (meant.length === 0 || !meant.every((each) => VALID.test(each))) return GRAMMAR
  return `Write ${meant.length === 1 ? formatValue(meant[0]) : `[${meant.map(formatValue).join(', ')}]`}.`
}

/** Translates the syntax of other routers: optional and repeated parameters, whole URLs, queries, named wildcards. */
function suggestionFor(pattern: string): readonly string[] {
  const [, parent = '', parameter, repeat] = /^(\/.*|)\/(:\w+)([?+*])$/.exec(pattern) ?? []
  if (parameter !== undefined) {
    const one = `${parent}/${parameter}`
    if (repeat === '+') return [`${one}/*`]
    return [parent || '/', repeat === '*' ? `${one}/*` : one]
  }
  const segments = pattern
    .replace(/^[a-z]+:\/\/[^/]*/i, '')
    .replace(/\{\/\*\w*\}$/, '/*')
    .replace(/(?<=:\w{1,100})\([^/()]{0,200}\)/g, '')
    .replace(/[?#].*$/s, '')
    .split(/\/|\\|%2f|%5c/i)
    .filter((segment) => segment !== '')
  return [`/${segments.map((each, i) => segmentSuggestionFor(each, i === segments.length - 1)).join('/')}`]
}

function segmentSuggestionFor(segment: string, last: boolean): string {
  if (last && /^(\{?\*\w*\}?|\(\.[*+]\)|\.\*)$/.test(segment)) return segment === '**' ? segment : '*'
  const [, name] = /^(?:\{(\w+)\}|\[(\w+)\]|<(?:\w+:)?(\w+)>)$/.exec(segment)?.filter(Boolean) ?? []
  if (name !== undefined) return `:${name}`
  const encoded = segment
    .replace(/\$$/, '')
    .replace(/%(?![0-9a-f]{2})/gi, '%25')
    .replace(/\s/g, encodeURIComponent)
  return last ? encoded.replace(/(?<=[^*])\*$/, '/*') : encoded
}
