import { decoded } from './decoded.ts'
import { eachPair } from './pairs.ts'

/** A cookie as parsers read it; `value` is undefined if they disagree. */
interface Cookie {
  readonly value: string | undefined
  readonly isPlain: boolean
}

/**
 * The values of the named cookies. A cookie without `=` has no name.
 *
 * A cookie is missing if it is repeated with different values, or if parsers disagree about one of its copies: Express reads
 * the first copy, Next.js and Deno the last. Otherwise a client could choose the counted value and have the app read another.
 * So is a value that starts with a quote and does not end with one: some parsers ignore it, some keep the quote, and some remove
 * it and the last letter, whatever it is.
 */
export function cookiesIn(header: string, names: ReadonlySet<string>): ReadonlyMap<string, string | undefined> {
  const cookies = new Map<string, Cookie>()
  eachPair(header, ';', ({ name: written, value, start, end, isLed, isEncoded }) => {
    if (isLed || value < 0) return
    const trimmed = written.trim()
    // Bun decodes names, others do not.
    const name = isEncoded ? decoded(trimmed) : trimmed
    if (!names.has(name)) return
    const read = name === trimmed ? plainValue(header.slice(value, end).trim()) : undefined
    const copy = { value: read, isPlain: isPlain(header.slice(start, end)) }
    const known = cookies.get(name)
    cookies.set(name, known === undefined ? copy : both(known, copy))
  })
  return new Map([...cookies].map(([name, { value }]) => [name, value]))
}

/** A cookie of two copies. */
function both(one: Cookie, other: Cookie): Cookie {
  const areAlike = one.isPlain && other.isPlain && one.value === other.value
  return areAlike ? one : { value: undefined, isPlain: false }
}

function plainValue(value: string): string | undefined {
  if (!value.startsWith('"')) return decoded(value)
  return value.length > 1 && value.endsWith('"') ? decoded(value.slice(1, -1)) : undefined
}

/** As browsers write it: at most one space before it, and a value of the characters that RFC 6265 allows. */
const isPlain = (pair: string): boolean => /^ ?[^\s=]+=(?:[!#-+\--:<-[\]-~]*|"[!#-+\--:<-[\]-~]*")$/.test(pair)
