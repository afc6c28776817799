import { type Header, isList } from './plain-join.ts'

export type { Header } from './plain-join.ts'

/** The header that lists which headers browsers expose to scripts of other origins. */
export const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * The headers to set on a response, merged with those that `read` finds on `response`. If another limiter has set headers
 * (`limited`), the drafts' lists are appended to its lists. Of fields that report one policy, those of the policy with
 * fewer units remaining stay.
 */
export function joinHeaders<T = undefined>(
  headers: readonly Header[],
  limited: boolean,
  read: (name: string, response: T) => unknown,
  response?: T,
): readonly Header[] {
  // The header that exposes others is the first.
  if (!limited && headers[0]?.[0] !== EXPOSE) return headers
  const before = (name: string): string | undefined => textOf(read(name, response as T))
  const kept = limited ? headers.filter((header) => !isSuperseded(header, headers, before)) : headers
  return kept.map(([name, value]) => [name, appendHeader(name, before(name), value, limited)])
}

/**
 * The headers to set again on a response that may not be the one they were set on, as that of another server. If another
 * limiter has added its own (`limited`), those that it has overridden are omitted.
 */
export function missingHeaders(
  headers: readonly Header[],
  limited: boolean,
  read: (name: string) => unknown,
): readonly Header[] {
  const before = (name: string): string | undefined => textOf(read(name))
  const isKept = (header: Header): boolean => {
    const [name, value] = header
    const found = before(name)
    if (!limited || found === undefined) return found === value
    // One of another form is that limiter's.
    if (isList(name, found) !== isList(name, value)) return true
    return `, ${found}, `.includes(`, ${value}, `) || isSuperseded(header, headers, before)
  }
  const missing = headers.filter((header) => !isKept(header))
  return joinHeaders(missing, false, read).filter(([name, value]) => value !== before(name))
}

/** Frameworks return a header that was set several times as a list. */
const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)

function appendHeader(name: string, before: string | undefined, value: string, limited: boolean): string {
  if (before === undefined) return value
  if (name === EXPOSE) return exposing(before, value)
  return limited && isList(name, value) && isList(name, before) ? `${before}, ${value}` : value
}

function exposing(before: string, value: string): string {
  const known = before
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return [before, ...value.split(', ').filter((name) => !known.includes(name.toLowerCase()))].join(', ')
}

const RETRY = 'Retry-After'

/** The fields that report one policy each. The prefix groups those that belong together. */
const COUNTS = /^(X-RateLimit|RateLimit)-(?:Limit|Remaining|Reset)$/

/**
 * Whether another limiter has reported fewer remaining units in a field that reports one policy, or its denial: the field
 * names the moment of `Retry-After`.
 */
function isSuperseded(
  [name, value]: Header,
  headers: readonly Header[],
  before: (name: string) => string | undefined,
): boolean {
  const [, group] = COUNTS.exec(name) ?? []
  if (group === undefined && (name !== 'RateLimit' || isList(name, value))) return false
  if (headers.some(([each]) => each === RETRY)) return false
  if (before(RETRY) !== undefined) return true
  if (group !== undefined) {
    const remaining = `${group}-Remaining`
    return Number(before(remaining)) < Number(headers.find(([each]) => each === remaining)?.[1])
  }
  return remainingIn(before(name)) < remainingIn(value)
}

/** The remaining units in a draft 7 field; NaN if it has another format. */
const remainingIn = (value: string | undefined): number => Number(/^limit=\d+, remaining=(\d+)/.exec(value ?? '')?.[1])
