import type { Located } from './entry.ts'
import type { JsonEntry } from './json.ts'

/** The lines that are held at most: before it is known which lines count, and until the status of a request is known. */
const MOST_HELD = 1000

/**
 * Which lines of a logger count, if it has several lines for a request:
 *
 * - `timed`: those with the request and the time that the response took, as pino-http writes them;
 * - `opened`: those with the request, as Fastify writes them, whose responses have lines of their own;
 * - `answered`: those with the request and the status of the response;
 * - `each`: all that have a part of a request.
 */
type Style = 'timed' | 'opened' | 'answered' | 'each'

/** A line that is held. */
interface Held extends Located {
  /** Whether the status of its response may follow. */
  isOpen: boolean
}

/** A request whose response has a line of its own. */
interface Opened extends Held {
  readonly entry: JsonEntry
  readonly id: string
  /** Another one with the same id that was open before. */
  before: Opened | undefined
}

/** Whether a line is of a response only. A message may be of a request to another server, with its path. */
const isResponse = (entry: JsonEntry): boolean => entry.isLast && entry.hasStatus && !entry.hasRequest

const NONE: readonly Located[] = []

/**
 * Finds the requests among the lines of a JSON log. Lines of pino and similar loggers, with `req`, `res` or `reqId`, may be
 * several for one request. The first one with the time that a response took shows which of them count; those before it are
 * held. Requests are returned in the order of their lines.
 */
export class RequestLines {
  readonly #isRequest: (entry: JsonEntry) => boolean
  #style: Style | undefined
  /** Whether no line has shown the style. */
  #isGuess = true
  /** Whether a line had a request without a response. */
  #hasReq = false
  /** The lines before the style is known. */
  #waiting: { readonly entry: JsonEntry; readonly line: number }[] = []
  /** Requests in order, of which the first is open. */
  #held: (Held | Opened)[] = []
  readonly #open = new Map<string, Opened>()

  /** `isRequest` tells whether a line has a part of a request. */
  constructor(isRequest: (entry: JsonEntry) => boolean) {
    this.#isRequest = isRequest
  }

  /** Reads a line, and returns the requests that are known by it. */
  read(entry: JsonEntry, line: number): JsonEntry | readonly Located[] {
    if (!entry.isLogged && this.#waiting.length + this.#held.length === 0) return this.#isRequest(entry) ? entry : NONE
    const style = this.#isGuess && entry.isLogged ? this.#styleBy(entry) : undefined
    if (style) return this.#decide(style, entry, line)
    if (this.#style === undefined) {
      this.#waiting.push({ entry, line })
      return this.#waiting.length < MOST_HELD ? NONE : this.#guess()
    }
    if (this.#held.length === 0 && this.#style !== 'opened') return this.#counts(entry) ? entry : NONE
    this.#add(entry, line)
    return this.#released()
  }

  /** The requests that are still held at the end of the log. */
  end(): readonly Located[] {
    const guessed = this.#style === undefined ? this.#guess() : NONE
    const rest = [...guessed, ...this.#held]
    this.#held = []
    return rest
  }

  /** The style that a line shows. */
  #styleBy(entry: JsonEntry): Style | undefined {
    if (entry.hasReq && !entry.hasStatus) this.#hasReq = true
    if (entry.hasReq && entry.isLast) return 'timed'
    return this.#hasReq && isResponse(entry) ? 'opened' : undefined
  }

  /** The style of a log in which no line has the time that a response took. */
  #guess(): readonly Located[] {
    const some = (has: (entry: JsonEntry) => boolean): boolean => this.#waiting.some(({ entry }) => has(entry))
    if (some((entry) => entry.hasRequest && entry.hasStatus)) return this.#follow('answered')
    return this.#follow(some((entry) => entry.hasReq) ? 'opened' : 'each')
  }

  #decide(style: Style, entry: JsonEntry, line: number): readonly Located[] {
    this.#isGuess = false
    // Lines that were taken for requests are messages about them.
    if (style === 'timed') this.#drop()
    this.#waiting.push({ entry, line })
    return this.#follow(style)
  }

  #drop(): void {
    this.#held = this.#held.filter(({ isOpen }) => !isOpen)
    this.#open.clear()
  }

  #follow(style: Style): readonly Located[] {
    this.#style = style
    const waiting = this.#waiting
    this.#waiting = []
    for (const { entry, line } of waiting) this.#add(entry, line)
    return this.#released()
  }

  #add(entry: JsonEntry, line: number): void {
    if (this.#style === 'opened' && entry.isLogged && !(entry.isLast && entry.hasReq)) this.#addPart(entry, line)
    else if (this.#counts(entry)) this.#held.push({ entry, line, isOpen: false })
  }

  /** Whether a line is a request by itself. */
  #counts(entry: JsonEntry): boolean {
    if (!entry.isLogged || this.#style === 'each') return this.#isRequest(entry)
    return entry.hasRequest && (this.#style === 'answered' ? entry.hasStatus : entry.isLast)
  }

  /** A line of a log in which requests and responses have different lines. */
  #addPart(entry: JsonEntry, line: number): void {
    const { id } = entry
    const open = id === undefined ? undefined : this.#open.get(id)
    if (open && isResponse(entry)) {
      open.entry.answer(entry)
      this.#close(open)
    }
    // A line with both is of an error, before that of the response.
    if (entry.isLast || entry.hasStatus || !entry.hasReq) return
    // A connection has one request at a time: this is a message about the request. Clients may choose ids: with another
    // connection, this is another request.
    if (open && open.entry.port === entry.port) return
    if (id === undefined) this.#held.push({ entry, line, isOpen: false })
    else {
      const opened: Opened = { entry, line, isOpen: true, id, before: open }
      this.#open.set(id, opened)
      this.#held.push(opened)
    }
  }

  /** Ends the wait for the status of a request. */
  #close(opened: Opened): void {
    const { id, before } = opened
    opened.isOpen = false
    opened.before = undefined
    if (this.#open.get(id) !== opened) return
    if (before?.isOpen) this.#open.set(id, before)
    else this.#open.delete(id)
  }

  /** The requests at the front that are not open. If too many are held, the first are not awaited. */
  #released(): readonly Located[] {
    const held = this.#held
    let end = 0
    for (; end < held.length; end++) {
      const first = held[end] as Held | Opened
      if (first.isOpen && held.length - end <= MOST_HELD) break
      if (first.isOpen) this.#close(first as Opened)
    }
    return end === 0 ? NONE : held.splice(0, end)
  }
}
