/** A header as the adapters set it. */
export type Header = readonly [name: string, value: string]

/** The header by which browsers show other headers to scripts of other origins. */
export const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * The headers of a limiter as they are to be set on a response, of which `read` reads what has been set before. If
 * another limiter has been there (`limited`), the drafts' lists are appended to its own, and of fields with room for one
 * policy those of the scarcer stay.
 */
export function joinHeaders(
  headers: readonly Header[],
  limited: boolean,
  read: (name: string) => unknown,
): readonly Header[] {
  if (!limited && !headers.some(([name]) => name === EXPOSE)) return headers
  const before = (name: string): string | undefined => textOf(read(name))
  const kept = limited ? headers.filter((header) => !isOutdone(header, headers, before)) : headers
  return kept.map(([name, value]) => [name, joined(name, before(name), value, limited)])
}

/**
 * The headers to set again on a response that may be another than the one they were set on. Those that a limiter further
 * in has outdone are not among them.
 */
export function missingHeaders(headers: readonly Header[], read: (name: string) => unknown): readonly Header[] {
  const before = (name: string): string | undefined => textOf(read(name))
  const missing = headers.filter(
    (header) => !before(header[0])?.includes(header[1]) && !isOutdone(header, headers, before),
  )
  return joinHeaders(missing, false, read)
}

/** Frameworks keep a header that was set several times as a list. */
const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)

function joined(name: string, before: string | undefined, value: string, limited: boolean): string {
  if (before === undefined) return value
  if (name === EXPOSE) return exposing(before, value)
  return limited && isList(name, value) && isList(name, before) ? `${before}, ${value}` : value
}

// Draft 7 has a dictionary in RateLimit, which can tell of one policy only.
const isList = (name: string, value: string): boolean =>
  name === 'RateLimit-Policy' || (name === 'RateLimit' && value.startsWith('"'))

function exposing(before: string, value: string): string {
  const known = before
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return [before, ...value.split(', ').filter((name) => !known.includes(name.toLowerCase()))].join(', ')
}

/** The field that says which fields with room for one policy belong together, by how these begin. */
const COUNTS = /^(X-RateLimit|RateLimit)-(?:Limit|Remaining|Reset)$/

/** Whether the limiter before has less left, and has said so where there is room for one policy. */
function isOutdone(
  [name, value]: Header,
  headers: readonly Header[],
  before: (name: string) => string | undefined,
): boolean {
  const [, group] = COUNTS.exec(name) ?? []
  if (group !== undefined) {
    const remaining = `${group}-Remaining`
    return Number(before(remaining)) < Number(headers.find(([each]) => each === remaining)?.[1])
  }
  return name === 'RateLimit' && remainingIn(before(name)) < remainingIn(value)
}

/** What draft 7 says is left; not a number where that is not what stands there. */
const remainingIn = (value: string | undefined): number => Number(/^limit=\d+, remaining=(\d+)/.exec(value ?? '')?.[1])

/** Whole seconds, rounded up: a client that waits as long as it is told is never early. */
export const seconds = (millis: number): number => Math.ceil(millis / 1000)
