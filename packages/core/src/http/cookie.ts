/**
 * The value of a cookie as parsers read it, of a repeated one the first; undefined if there is none. A cookie without `=`
 * has no name. If it is repeated, and one of them is such that some parsers pass over it and others do not, it is as if
 * there were none: else its sender could choose what is counted, and have the app read another.
 */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  const pairs = (header?.split(';') ?? []).filter((pair) => nameOf(pair) === name)
  const [pair] = pairs
  if (pair === undefined || (pairs.length > 1 && !pairs.every(isPlain))) return undefined
  const value = pair.slice(pair.indexOf('=') + 1).trim()
  return decoded(value.startsWith('"') ? value.slice(1, -1) : value)
}

const nameOf = (pair: string): string => pair.slice(0, Math.max(pair.indexOf('='), 0)).trim()

/** As browsers write it: a space at most before it, and a value of the characters that RFC 6265 has for one. */
const isPlain = (pair: string): boolean => /^ ?[^\s=]+=(?:[!#-+\--:<-[\]-~]*|"[!#-+\--:<-[\]-~]*")$/.test(pair)

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
