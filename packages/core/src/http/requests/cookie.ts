/**
 * The value of a cookie as parsers read it; undefined if it is missing. Of a repeated cookie the first counts. A cookie
 * without `=` has no name. If a cookie is repeated and parsers disagree about one of the copies, it counts as missing:
 * otherwise a client could choose the counted value and have the app read another. So does a value that starts with a quote
 * and does not end with one: some parsers ignore it, some keep the quote, and some remove it and the last letter, whatever it is.
 */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  const pairs = (header?.split(';') ?? []).filter((pair) => nameOf(pair) === name)
  const [pair] = pairs
  if (pair === undefined || (pairs.length > 1 && !pairs.every(isPlain))) return undefined
  const value = pair.slice(pair.indexOf('=') + 1).trim()
  if (!value.startsWith('"')) return decoded(value)
  return value.length > 1 && value.endsWith('"') ? decoded(value.slice(1, -1)) : undefined
}

const nameOf = (pair: string): string => pair.slice(0, Math.max(pair.indexOf('='), 0)).trim()

/** As browsers write it: at most one space before it, and a value of the characters that RFC 6265 allows. */
const isPlain = (pair: string): boolean => /^ ?[^\s=]+=(?:[!#-+\--:<-[\]-~]*|"[!#-+\--:<-[\]-~]*")$/.test(pair)

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
