import { formatValue } from '../../common/errors.ts'
import { isPattern } from '../../common/path-pattern.ts'

/** What to write instead of an invalid pattern; undefined if that is not clear. */
export function patternHint(pattern: string): string | undefined {
  const [, parent] = /^(\/.*[^/])\/$/.exec(pattern) ?? []
  if (parent !== undefined && isPattern(parent)) {
    return `Write ${formatValue(parent)} for that path alone, or ${formatValue(`${parent}/*`)} for all below it as well.`
  }
  const meant = pattern === '' ? [] : suggestionFor(pattern)
  if (meant.length === 0 || !meant.every(isPattern)) return undefined
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
