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

/** A span of time as it follows "in any" or "in each": `minute`, `10 min`. */
export function each(millis: number): string {
  const text = span(millis)
  const [, name = ''] = /^1 (\S+)$/.exec(text) ?? []
  return { d: 'day', h: 'hour', min: 'minute', s: 'second' }[name] ?? text
}

/** A time to the second, in UTC: `2026-01-05 13:07:09`. */
export const moment = (iso: string): string => iso.slice(0, 19).replace('T', ' ')

/** Text from a log, without control characters, which could move a terminal's cursor, and cut to `longest`. */
export function plain(text: string, longest = 60): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the regex removes them
  const safe = text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '�')
  return safe.length > longest ? `${safe.slice(0, longest - 1)}…` : safe
}

/** Rows in columns: the first is left aligned, the others right. */
export function columns(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  style: (text: string) => string,
): string {
  const all = [head, ...rows]
  const widths = head.map((_, i) => Math.max(...all.map((row) => (row[i] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join('  ')
  return [style(line(head).trimEnd()), ...rows.map((row) => line(row).trimEnd())].join('\n')
}
