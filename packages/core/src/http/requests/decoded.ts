import { hexDigit } from '../../common/hex-digit.ts'

const PERCENT = 37
const REPLACEMENT = '\ufffd'

/** How a part of a request is decoded. */
interface Encoding {
  /** The text of a character that is not escaped, by its code; undefined if it is itself. */
  readonly raw: (code: number) => string | undefined
  /** The text of an escaped character. */
  readonly escaped: (character: string) => string
}

const SLASH = 47
const BACKSLASH = 92

const asItIs = (character: string): string => character

const PLAIN: Encoding = { raw: () => undefined, escaped: asItIs }

/** Of a name or value in a query, where a plus sign is a space. */
export const FORM: Encoding = { escaped: asItIs, raw: (code) => (code === 43 ? ' ' : undefined) }

/** Of a path: in lower case, and an escaped slash is no slash for routers. Parsers of URLs remove tabs and line ends. */
export const PATH: Encoding = {
  raw: (code) => {
    if (code > 127) return String.fromCharCode(code).toLowerCase()
    if (code < 14) return ''
    return code >= 65 && code <= 90 ? String.fromCharCode(code + 32) : undefined
  },
  escaped: (character) => (character === '/' ? '\\' : character.toLowerCase()),
}

/**
 * Decodes percent-encoded text as a URL parser does: bytes that are no UTF-8 become U+FFFD, and a percent sign without two digits
 * is itself. With `decodeURIComponent`, each of them is an exception: a request of 16 kB of them blocked the event loop for 40 ms.
 * Calls back with the position of each slash and backslash in the decoded text, so that nothing has to look for them.
 */
export function decoded(
  text: string,
  { raw, escaped }: Encoding = PLAIN,
  separates: (isSlash: boolean, at: number) => void = ignore,
): string {
  let plain = ''
  let start = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    const [character, length] = code === PERCENT ? escapedAt(text, at) : ITSELF
    const own = length > 1 ? escaped(character) : raw(code)
    if (code === SLASH || code === BACKSLASH || own === '\\') separates(code === SLASH, plain.length + at - start)
    if (own !== undefined) {
      plain += text.slice(start, at) + own
      start = at + length
    }
    at += length
  }
  return start === 0 ? text : plain + text.slice(start)
}

const ignore = (): void => {}

const ITSELF = ['', 1] as const

/** The character that is escaped at a position, and how long that is. */
function escapedAt(text: string, at: number): readonly [character: string, length: number] {
  const lead = byteAfter(text, at)
  if (lead < 0) return ['%', 1]
  if (lead < 0x80) return [String.fromCharCode(lead), 3]
  const bytes = bytesAfter(lead)
  let point = lead & (0x3f >> bytes)
  let [least, most] = SECOND.get(lead) ?? CONTINUATION
  for (let i = 1; i <= bytes; i++) {
    const from = at + 3 * i
    const byte = text.charCodeAt(from) === PERCENT ? byteAfter(text, from) : -1
    if (byte < least || byte > most) return [REPLACEMENT, 3 * i]
    ;[least, most] = CONTINUATION
    point = (point << 6) | (byte & 0x3f)
  }
  return [bytes === 0 ? REPLACEMENT : String.fromCodePoint(point), 3 * (bytes + 1)]
}

/** How many bytes follow the first one of a character; 0 if none begins with it. */
function bytesAfter(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0
  return lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
}

type Range = readonly [least: number, most: number]

const CONTINUATION: Range = [0x80, 0xbf]

/** The ranges of the second byte after these: neither overlong forms nor surrogates are UTF-8. */
const SECOND: ReadonlyMap<number, Range> = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
])

/** The byte that is escaped by the percent sign at a position; negative if none is. */
function byteAfter(text: string, at: number): number {
  const high = hexDigit(text, at + 1)
  const low = high < 0 ? -1 : hexDigit(text, at + 2)
  return low < 0 ? -1 : 16 * high + low
}
