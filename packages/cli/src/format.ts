const whole = new Intl.NumberFormat('en')

/** `1,234,567`. */
export const count = (value: number): string => whole.format(value)

/** A fraction as a percentage, with enough digits to differ from 0 % and 100 %. */
export function percent(part: number, all: number): string {
  if (all === 0 || part === 0) return '0 %'
  if (part === all) return '100 %'
  const share = (100 * part) / all
  const digits = share >= 10 ? 1 : share >= 1 ? 2 : 3
  return `${Math.max(Math.min(Number(share.toFixed(digits)), 100 - 10 ** -digits), 0.001)} %`
}

const UNITS: readonly (readonly [millis: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [1, 'ms'],
  [0.001, 'µs'],
]

/** A span of time in its two largest units: `1 h 5 min`. */
export function span(millis: number | null): string {
  if (millis === null || millis === Infinity) return 'never'
  const first = UNITS.findIndex(([unit]) => millis >= unit)
  if (first < 0) return '0 s'
  const [unit, name] = UNITS[first] as readonly [number, string]
  const units = Math.floor(millis / unit)
  const [nextUnit, nextName] = UNITS[first + 1] ?? [unit, name]
  const rest = Math.floor((millis - units * unit) / nextUnit + 1e-6)
  return rest > 0 && units < 100 ? `${count(units)} ${name} ${rest} ${nextName}` : `${count(units)} ${name}`
}

/** When something is available: `?` if that is not known, as of slots in use. */
export const whenText = (afterMs: number | null, isNow: boolean): string =>
  afterMs !== 0 ? span(afterMs) : isNow ? 'now' : '?'

/** A span of time as rules of JSON have it: `10s`. */
export function durationOf(millis: number): string {
  const unit = UNITS.find(([size]) => size >= 1 && millis % size === 0)
  return unit ? `${millis / unit[0]}${unit[1] === 'min' ? 'm' : unit[1]}` : `${millis}ms`
}

/** A span of time as it follows "in any" or "in each": `minute`, `10 min`. */
export function each(millis: number): string {
  const text = span(millis)
  const [, name = ''] = /^1 (\S+)$/.exec(text) ?? []
  return { d: 'day', h: 'hour', min: 'minute', s: 'second' }[name] ?? text
}

/** A time to the second, in UTC: `2026-01-05 13:07:09`. */
export const moment = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

/**
 * Text from a log, cut to `longest`, without control characters, which could move a terminal's cursor, characters that are
 * not seen or reverse the text, line separators, and halves of characters.
 */
export function plain(text: string, longest = 60): string {
  const safe = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '�')
  return safe.length > longest ? `${safe.slice(0, longest - 1)}…` : safe
}

/** The narrowest first column. */
const NARROWEST = 12

/** Rows in columns: the first is left aligned, and cut if the rows are wider than `width`; the others are right aligned. */
export function columns(
  head: readonly string[],
  uncut: readonly (readonly string[])[],
  style: (text: string) => string,
  width: number = Infinity,
): string {
  const others = head.slice(1).map((_, i) => 2 + Math.max(...[head, ...uncut].map((row) => (row[i + 1] ?? '').length)))
  const room = Math.max(width - others.reduce((a, b) => a + b, 0), NARROWEST)
  const rows = uncut.map(([first = '', ...rest]) => [
    first.length > room ? `${first.slice(0, room - 1)}…` : first,
    ...rest,
  ])
  const all = [head, ...rows]
  const widths = head.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  ')
  return [style(line(head).trimEnd()), ...rows.map((row) => line(row).trimEnd())].join('\n')
}

/** Text in lines of at most `width` columns, each after `indent`. */
export function wrapped(text: string, width: number, indent = ''): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].map((each) => `${indent}${each}`).join('\n')
}

/** A time without the date that two others share: `13:07:09`, `01-05 13:07`, or all of it. */
export function shortMoment(iso: string, from: string, to: string): string {
  if (from.slice(0, 10) === to.slice(0, 10)) return iso.slice(11, 19)
  return from.slice(0, 4) === to.slice(0, 4) ? moment(iso).slice(5, 16) : moment(iso).slice(0, 16)
}
