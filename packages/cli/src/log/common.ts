import type { Micros } from '@spillway/core'
import type { Entry, Parse } from './entry.ts'
import { commonLogTimes } from './time.ts'

/** Where the fields after the request begin in a line, in the order that combined logs have them. */
const QUOTED = ['referer', 'user-agent', 'x-forwarded-for'] as const

class CommonEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly method: string
  readonly target: string
  readonly status: number | undefined
  readonly #line: string
  /** Where the quoted fields after the request may begin. */
  readonly #rest: number

  constructor(
    at: Micros,
    address: string | undefined,
    method: string,
    target: string,
    status: number | undefined,
    line: string,
    rest: number,
  ) {
    this.at = at
    this.address = address
    this.method = method
    this.target = target
    this.status = status
    this.#line = line
    this.#rest = rest
  }

  /** Combined logs have two headers; a third quoted field is X-Forwarded-For, as many have added it. */
  header(name: string): string | undefined {
    const wanted = (QUOTED as readonly string[]).indexOf(name)
    if (wanted < 0) return undefined
    let at = this.#rest
    for (let i = 0; ; i++) {
      const open = this.#line.indexOf('"', at)
      const close = open < 0 ? -1 : closing(this.#line, open)
      if (close < 0) return undefined
      if (i === wanted) {
        const value = unescaped(this.#line.slice(open + 1, close))
        return value === '-' ? undefined : value
      }
      at = close + 1
    }
  }

  cookie(): undefined {}

  claim(name: string): string | undefined {
    if (name !== 'user') return undefined
    const [, user] = /^\S+ \S+ (.+?) \[/.exec(this.#line) ?? []
    return user === '-' ? undefined : user
  }
}

/**
 * Reads lines of the common and combined formats of Apache and nginx. What comes after their last field is passed over;
 * the authenticated user is claim `user`.
 */
export function commonParser(): Parse {
  const momentOf = commonLogTimes()
  return (line) => {
    const addressEnd = line.indexOf(' ')
    const open = line.indexOf(' [', addressEnd)
    const close = line.indexOf(']', open)
    if (addressEnd <= 0 || open < 0 || close < 0) return 'it has no time in brackets'
    const at = momentOf(line.slice(open + 2, close))
    if (at === undefined) return 'its time is none'
    const quote = line.indexOf('"', close)
    const end = quote < 0 ? -1 : closing(line, quote)
    if (end < 0) return 'it has no request in quotes'
    const address = line.slice(0, addressEnd)
    const { method, target } = requestIn(line, quote + 1, end)
    return new CommonEntry(
      at,
      address === '-' ? undefined : address,
      method,
      target,
      statusAt(line, end + 2),
      line,
      end + 1,
    )
  }
}

/** The parts of `GET /path HTTP/1.1`; of what is no request, nothing. */
function requestIn(line: string, start: number, end: number): { readonly method: string; readonly target: string } {
  const space = line.indexOf(' ', start)
  if (space < start || space >= end) return { method: '', target: '' }
  const last = line.lastIndexOf(' ', end)
  return { method: line.slice(start, space), target: line.slice(space + 1, last > space ? last : end) }
}

/** The quote that closes the one at `open`: neither does one behind a backslash. */
function closing(line: string, open: number): number {
  let close = line.indexOf('"', open + 1)
  while (close > 0 && line.charCodeAt(close - 1) === 92 && isEscaped(line, close)) close = line.indexOf('"', close + 1)
  return close
}

function isEscaped(line: string, at: number): boolean {
  let slashes = 0
  while (line.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes % 2 === 1
}

const unescaped = (text: string): string => (text.includes('\\') ? text.replace(/\\(["\\])/g, '$1') : text)

function statusAt(line: string, at: number): number | undefined {
  const status = (line.charCodeAt(at) - 48) * 100 + (line.charCodeAt(at + 1) - 48) * 10 + line.charCodeAt(at + 2) - 48
  return status >= 100 && status <= 999 ? status : undefined
}
