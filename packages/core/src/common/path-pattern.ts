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

const GRAMMAR =
  'A pattern begins with "/" and is made of literal segments, of ":name" or "*", each of which is one segment, and of "/*" or "/**" at the end, for all below. Percent-encode other characters, or match by a function.'

/** Reports whether a text is a path pattern. */
export const isPattern = (text: string): boolean => VALID.test(text)

/**
 * Parses a path pattern; `what` names the option in the error. `literal` reads each literal segment. Throws a QuotaError for
 * an invalid pattern: a pattern that never matches would be a limit that is never enforced. `hintFor` proposes a valid one.
 */
export function parsePattern(
  what: string,
  pattern: string,
  literal: (segment: string) => string,
  hintFor?: (pattern: string) => string | undefined,
): PathPattern {
  if (!isPattern(pattern)) {
    const hint = hintFor?.(pattern) ?? GRAMMAR
    throw new QuotaError('ERR_SPILLWAY_OPTION', `${what} cannot be ${formatValue(pattern)}. ${hint}`)
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
