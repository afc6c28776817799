import type { Micros } from '@spillway/core'
import { withoutPort } from './address.ts'
import { durationOf, type Unit } from './duration.ts'
import type { Entry } from './entry.ts'
import { anyTimes } from './time.ts'

/**
 * The part of a request that a field of a line holds: `time`, `date`, `ip`, `request`, `method`, `path`, `query`,
 * `status`, `took:UNIT`, `header:NAME`, `cookie:NAME` or `claim:user`; empty if policies read none of it.
 */
export type Part = string

/** Makes an entry of the texts of a line's fields, or returns the problem as text. Fields without a part are not read. */
export type Layout = (texts: readonly string[]) => Entry | string

/** The value that the text of a field stands for. */
export type ReadText = (text: string, field: number) => string

/** Which field holds each part, negative if none does, and how its text is read. */
class Places {
  readonly parts: readonly Part[]
  readonly #read: ReadText
  readonly #indexes: ReadonlyMap<Part, number>
  readonly request: number
  readonly method: number
  readonly path: number
  readonly query: number
  readonly status: number
  /** The durations that add up to that of a request. */
  readonly took: readonly (readonly [field: number, unit: Unit])[]
  readonly isTimeOfStart: boolean

  constructor(parts: readonly Part[], read: ReadText, isTimeOfStart: boolean) {
    this.parts = parts
    this.#read = read
    this.#indexes = new Map(parts.map((part, i) => [part, i]))
    this.request = this.of('request')
    this.method = this.of('method')
    this.path = this.of('path')
    this.query = this.of('query')
    this.status = this.of('status')
    this.took = parts.flatMap((part, i) => (part.startsWith('took:') ? [[i, part.slice(5) as Unit] as const] : []))
    this.isTimeOfStart = isTimeOfStart
  }

  of(part: Part): number {
    return this.#indexes.get(part) ?? -1
  }

  /** The value of a field; undefined if the line has none. */
  value(texts: readonly string[], field: number): string | undefined {
    const text = field < 0 ? undefined : texts[field]
    if (text === undefined || text === '') return undefined
    const value = this.#read(text, field)
    return value === '-' || value === '' ? undefined : value
  }
}

/** An entry that reads its parts from the texts when they are asked for: most policies ask for few. */
class LayoutEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly #texts: readonly string[]
  readonly #places: Places

  constructor(at: Micros, address: string | undefined, texts: readonly string[], places: Places) {
    this.at = at
    this.address = address
    this.#texts = texts
    this.#places = places
  }

  get method(): string {
    const { method, request } = this.#places
    return (this.#value(method) ?? this.#value(request)?.split(' ', 1)[0] ?? '').toUpperCase()
  }

  get target(): string {
    const { path, request, query } = this.#places
    const url = this.#value(path) ?? this.#value(request)?.split(' ', 2)[1] ?? ''
    // The target of a request line has its query.
    const search = url.includes('?') ? undefined : this.#value(query)?.replace(/^\?/, '')
    return search === undefined ? url : `${url}?${search}`
  }

  get status(): number | undefined {
    return Number(this.#value(this.#places.status)) || undefined
  }

  get took(): Micros | undefined {
    const { took } = this.#places
    let sum = took.length === 0 ? undefined : 0
    for (const [field, unit] of took) {
      const part = durationOf(this.#value(field), unit)
      sum = part === undefined || sum === undefined ? undefined : sum + part
    }
    return sum
  }

  get isTimeOfStart(): boolean {
    return this.#places.isTimeOfStart
  }

  header(name: string): string | undefined {
    const cookies = name === 'cookie' ? cookiesIn(this.#places.parts, (part) => this.#named(part)) : undefined
    return this.#named(`header:${name}`) ?? cookies
  }

  claim(name: string): string | undefined {
    return this.#named(`claim:${name}`)
  }

  #named(part: Part): string | undefined {
    return this.#value(this.#places.of(part))
  }

  #value(field: number): string | undefined {
    return this.#places.value(this.#texts, field)
  }
}

/** The entries of lines whose fields are in this order. Their time is when a request ended, or when it began. */
export function layoutOf(parts: readonly Part[], read: ReadText, isTimeOfStart = false): Layout {
  const momentOf = anyTimes()
  const places = new Places(parts, read, isTimeOfStart)
  const [time, date, ip] = [places.of('time'), places.of('date'), places.of('ip')]
  return (texts) => {
    const timeText = date < 0 ? places.value(texts, time) : `${places.value(texts, date)} ${places.value(texts, time)}`
    const at = momentOf(timeText)
    if (at === undefined) return timeText === undefined ? 'it has no time' : 'its time is invalid'
    const address = places.value(texts, ip)
    return new LayoutEntry(at, address === undefined ? undefined : withoutPort(address), texts, places)
  }
}

/** The cookies that have fields of their own, as the header that they came in. */
export function cookiesIn(parts: readonly Part[], value: (part: Part) => string | undefined): string | undefined {
  const cookies = parts.flatMap((part) => {
    const text = part.startsWith('cookie:') ? value(part) : undefined
    return text === undefined ? [] : [`${part.slice('cookie:'.length)}=${text}`]
  })
  return cookies.length === 0 ? undefined : cookies.join('; ')
}
