import { UserError } from '../io.ts'
import type { Parse } from './entry.ts'
import { layoutOf, type Part } from './layout.ts'
import { closingQuote, unescaped } from './quotes.ts'

/** A format string, as the field that follows each literal text. */
interface Piece {
  readonly before: string
  readonly part: Part
}

const NGINX: Readonly<Record<string, Part>> = {
  remote_addr: 'ip',
  remote_user: 'claim:user',
  time_local: 'time',
  time_iso8601: 'time',
  msec: 'time',
  request: 'request',
  request_method: 'method',
  request_uri: 'path',
  uri: 'path',
  args: 'query',
  query_string: 'query',
  status: 'status',
  request_time: 'took:s',
}

const APACHE: Readonly<Record<string, Part>> = {
  h: 'ip',
  a: 'ip',
  u: 'claim:user',
  t: 'time',
  r: 'request',
  m: 'method',
  U: 'path',
  q: 'query',
  s: 'status',
  D: 'took:us',
  T: 'took:s',
}

// cspell:ignore usec
/** The seconds, milliseconds and microseconds of `%{sec}t`: times in other forms are not read. */
const APACHE_TIMES = ['sec', 'msec', 'usec']

/** Whether a text is a format string, not the name of a format. */
export const isTemplate = (text: string): boolean => /[$%]/.test(text)

/**
 * Reads lines by a format string, as nginx's `log_format` (`$remote_addr`) or Apache's `LogFormat` (`%h`) has it. What
 * follows the last field is skipped. nginx logs the time at which a request ended, and Apache that at which it began, unless
 * `isTimeOfStart` says it. Throws a UserError if nothing separates the fields of a line.
 */
export function templateParser(template: string, isTimeOfStart: boolean = !template.includes('$')): Parse {
  const { pieces, after } = piecesOf(template)
  const parts = pieces.map(({ part }) => part)
  if (!parts.includes('time')) {
    throw new UserError(
      `--format needs the time of a request: $time_local, $time_iso8601, $msec or %t; got ${JSON.stringify(template)}.`,
    )
  }
  const fields = pieces.map(({ before, part }, i) => {
    const next = pieces[i + 1]?.before ?? after
    return { before, next, quoted: before.endsWith('"') && next.startsWith('"'), isRead: part !== '' }
  })
  const entryOf = layoutOf(parts, (text, field) => (fields[field]?.quoted ? unescaped(text) : text), isTimeOfStart)
  return (line) => {
    const texts: string[] = []
    let at = 0
    for (const { before, next, quoted, isRead } of fields) {
      if (!line.startsWith(before, at)) return mismatch(at, before)
      at += before.length
      const end = endOf(line, at, next, quoted)
      if (end < 0) return mismatch(at, next)
      texts.push(isRead ? line.slice(at, end) : '')
      at = end
    }
    return entryOf(texts)
  }
}

/** Where the field at `at` ends: at the text after it, or at the end of the line. */
function endOf(line: string, at: number, next: string, quoted: boolean): number {
  if (quoted) return closingQuote(line, at - 1)
  return next === '' ? line.length : line.indexOf(next, at)
}

const mismatch = (at: number, wanted: string): string =>
  `it does not match the format: no ${JSON.stringify(wanted)} from column ${at + 1} on`

function piecesOf(template: string): { readonly pieces: readonly Piece[]; readonly after: string } {
  const nginx = template.includes('$')
  const field = nginx ? /\$\{?(-|\w+)\}?/g : /%[<>!\d,]{0,40}(?:\{([^}]{0,100})\})?([A-Za-z])/g
  const pieces: Piece[] = []
  let end = 0
  // Apache writes the time of %t in brackets of its own.
  let bracket = ''
  for (const match of template.matchAll(field)) {
    const [whole, first = '', letter = ''] = match
    const inBrackets = !nginx && letter === 't' && first === ''
    const before = `${bracket}${template.slice(end, match.index)}${inBrackets ? '[' : ''}`
    if (before === '' && pieces.length > 0) {
      throw new UserError(`--format needs text between two fields, such as a space, before ${whole}.`)
    }
    pieces.push({ before, part: nginx ? nginxPart(first) : apachePart(first, letter) })
    bracket = inBrackets ? ']' : ''
    end = match.index + whole.length
  }
  return { pieces, after: `${bracket}${template.slice(end)}` }
}

function nginxPart(name: string): Part {
  const [, kind, rest = ''] = /^(http|cookie)_(.+)$/.exec(name) ?? []
  if (kind === 'http') return `header:${rest.replaceAll('_', '-')}`
  if (kind === 'cookie') return `cookie:${rest}`
  const [, unit] = /^took_(s|ms|us)$/.exec(name) ?? []
  return unit === undefined ? (NGINX[name] ?? '') : `took:${unit}`
}

function apachePart(name: string, letter: string): Part {
  if (name === '') return APACHE[letter] ?? ''
  if (letter === 'i') return `header:${name.toLowerCase()}`
  if (letter === 'C') return `cookie:${name}`
  if (letter === 'T') return ['s', 'ms', 'us'].includes(name) ? `took:${name}` : ''
  return letter === 't' && APACHE_TIMES.includes(name) ? 'time' : ''
}
