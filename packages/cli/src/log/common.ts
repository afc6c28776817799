import type { Micros } from '@spillway/core'
import { clientIn, type First, usualClient } from './client.ts'
import type { Entry, Parse } from './entry.ts'
import { closingQuote, unescaped } from './quotes.ts'
import { COMMON_LENGTH, commonLogTimes } from './time.ts'

/** Where the fields after the request begin in a line, in the order that combined logs have them. */
const QUOTED = ['referer', 'user-agent', 'x-forwarded-for'] as const

/** An entry that reads its parts from the line when they are asked for: most policies ask for few. */
class CommonEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly #line: string
  /** Where the client and the user end. */
  readonly #headEnd: number
  readonly #fieldsBeforeUser: number
  /** Where the quotes of the request are. */
  readonly #open: number
  readonly #close: number

  constructor(
    at: Micros,
    address: string | undefined,
    fieldsBeforeUser: number,
    line: string,
    headEnd: number,
    open: number,
    close: number,
  ) {
    this.at = at
    this.address = address
    this.#line = line
    this.#headEnd = headEnd
    this.#fieldsBeforeUser = fieldsBeforeUser
    this.#open = open
    this.#close = close
  }

  get method(): string {
    return requestIn(this.#line, this.#open + 1, this.#close).method
  }

  get target(): string {
    return requestIn(this.#line, this.#open + 1, this.#close).target
  }

  get status(): number | undefined {
    return statusAt(this.#line, this.#close + 2)
  }

  /** Combined logs have two headers; a third quoted field is X-Forwarded-For, as many have added it. */
  header(name: string): string | undefined {
    const wanted = (QUOTED as readonly string[]).indexOf(name)
    if (wanted < 0) return undefined
    let at = this.#close + 1
    for (let i = 0; ; i++) {
      const open = this.#line.indexOf('"', at)
      const close = open < 0 ? -1 : closingQuote(this.#line, open)
      if (close < 0) return undefined
      if (i === wanted) {
        const value = unescaped(this.#line.slice(open + 1, close))
        return value === '-' ? undefined : value
      }
      at = close + 1
    }
  }

  claim(name: string): string | undefined {
    const user = name === 'user' ? userIn(this.#line.slice(0, this.#headEnd), this.#fieldsBeforeUser) : ''
    return user === '-' || user === '' ? undefined : user
  }
}

/**
 * Reads lines of the common and combined formats of Apache and nginx, with or without a virtual host in front. What
 * follows their last field is skipped; the authenticated user is claim `user`. `first` is what lines begin with, if that is
 * known.
 */
export function commonParser(first?: First): Parse {
  const momentOf = commonLogTimes()
  const entryOf = (line: string, at: Micros, open: number, quote: number): Entry | string => {
    const end = quote < 0 ? -1 : closingQuote(line, quote)
    if (end < 0) return 'it has no request in quotes'
    const usual = usualClient(line, open)
    if (usual !== undefined) return new CommonEntry(at, usual, 2, line, open, quote, end)
    const client = clientIn(line.slice(0, open), first)
    if (typeof client === 'string') return client
    return new CommonEntry(at, client.address, client.fieldsBeforeUser, line, open, quote, end)
  }
  const searched = (line: string, quote: number): Entry | string => {
    // The last bracket before the request: the client may be in brackets, and the user may contain one.
    const open = line.lastIndexOf(' [', quote < 0 ? line.length : quote)
    const close = line.indexOf(']', open)
    if (open <= 0 || close < 0) return 'it has no time in brackets'
    const at = close === open + 2 + COMMON_LENGTH ? momentOf(line, open + 2) : undefined
    return at === undefined ? 'its time is invalid' : entryOf(line, at, open, quote)
  }
  return (line) => {
    const quote = line.indexOf('"')
    // The time is usually right before the request: to search for its brackets takes several times as long.
    const open = quote - COMMON_LENGTH - 4
    const at = hasBrackets(line, open) ? momentOf(line, open + 2) : undefined
    return at === undefined ? searched(line, quote) : entryOf(line, at, open, quote)
  }
}

const [SPACE, OPEN, CLOSE] = [' ', '[', ']'].map((text) => text.charCodeAt(0)) as [number, number, number]

/** Whether a text of the length of a time is in brackets, after a space at `open`. */
const hasBrackets = (line: string, open: number): boolean =>
  open > 0 &&
  line.charCodeAt(open) === SPACE &&
  line.charCodeAt(open + 1) === OPEN &&
  line.charCodeAt(open + 2 + COMMON_LENGTH) === CLOSE

function userIn(head: string, fieldsBefore: number): string {
  let start = 0
  for (let i = 0; i < fieldsBefore; i++) {
    const space = head.indexOf(' ', start)
    if (space < 0) return ''
    start = space + 1
  }
  return head.slice(start)
}

/** The parts of `GET /path HTTP/1.1`; of what is no request, nothing. */
function requestIn(line: string, start: number, end: number): { readonly method: string; readonly target: string } {
  const space = line.indexOf(' ', start)
  if (space < start || space >= end) return { method: '', target: '' }
  const last = line.lastIndexOf(' ', end)
  return { method: line.slice(start, space), target: line.slice(space + 1, last > space ? last : end) }
}

function statusAt(line: string, at: number): number | undefined {
  const status = (line.charCodeAt(at) - 48) * 100 + (line.charCodeAt(at + 1) - 48) * 10 + line.charCodeAt(at + 2) - 48
  return status >= 100 && status <= 999 ? status : undefined
}
