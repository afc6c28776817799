import type { Micros } from '@spillway/core'
import { withoutPort } from './address.ts'
import { durationOf } from './duration.ts'
import type { Entry } from './entry.ts'
import {
  cookieJar,
  type Fields,
  type Find,
  type Finder,
  namedFinder,
  partFinders,
  statusOf,
  textOf,
  valuesBy,
} from './json-parts.ts'
import { isJson, type Json, type Learned, type Values } from './json-shape.ts'
import { JsonShapes } from './json-shapes.ts'
import { cookiesIn } from './layout.ts'
import { anyTimes } from './time.ts'

/** The places of the parts in the order of their finders. */
const [TIME, IP, METHOD, PATH, STATUS, REQUEST, REQ, LOGGED, ID, PROCESS, HOST, PORT, TOOK] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
] as const
const [SECONDS, MILLIS, MICROS, NANOS, ANY, CADDY] = [13, 14, 15, 16, 17, 18] as const

/** An entry that reads its parts from the values when they are asked for: most policies ask for few. */
export class JsonEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly #values: Values
  readonly #line: string
  #json: Json | undefined
  /** The line of the response, if it is another one. */
  #response: JsonEntry | undefined
  readonly #named: (kind: string, name: string) => Find
  readonly #cookies: (line: Json) => string | undefined

  constructor(
    at: Micros,
    values: Values,
    line: string,
    json: Json | undefined,
    named: (kind: string, name: string) => Find,
    cookies: (line: Json) => string | undefined,
  ) {
    this.at = at
    this.address = addressIn(textOf(values[IP]))
    this.#values = values
    this.#line = line
    this.#json = json
    this.#named = named
    this.#cookies = cookies
  }

  get method(): string {
    return (textOf(this.#values[METHOD]) ?? this.#requestPart(0)).toUpperCase()
  }

  get target(): string {
    return textOf(this.#values[PATH]) ?? this.#requestPart(1)
  }

  get status(): number | undefined {
    return this.#response ? this.#response.status : statusOf(this.#values[STATUS])
  }

  get took(): Micros | undefined {
    if (this.#response) return this.#response.took
    const values = this.#values
    return (
      durationOf(values[SECONDS], 's') ??
      durationOf(values[MILLIS], 'ms') ??
      durationOf(values[MICROS], 'us') ??
      durationOf(values[NANOS], 'ns') ??
      durationOf(values[ANY], values[CADDY] === undefined ? undefined : 's')
    )
  }

  /** Of a request whose response has a line of its own, the first line is written when it begins. Traefik logs its start. */
  get isTimeOfStart(): boolean {
    return this.#response !== undefined || this.#values[NANOS] !== undefined
  }

  /** Whether the line has a method, a path or a request line. */
  get hasRequest(): boolean {
    const values = this.#values
    return values[METHOD] !== undefined || values[PATH] !== undefined || values[REQUEST] !== undefined
  }

  get hasStatus(): boolean {
    return this.#values[STATUS] !== undefined
  }

  /** Whether the line has a part of a request. */
  get hasPart(): boolean {
    return this.address !== undefined || this.hasRequest || this.hasStatus
  }

  /** Whether the line has the object of a request, as pino names it. */
  get hasReq(): boolean {
    return this.#values[REQ] !== undefined
  }

  /** Whether other lines may be about the same request. */
  get isLogged(): boolean {
    return this.#values[LOGGED] !== undefined
  }

  /** Whether the line is that of a response. */
  get isLast(): boolean {
    return this.#values[TOOK] !== undefined
  }

  /** Identifies the request among those of a log, which may have several processes with the same ids. */
  get id(): string | undefined {
    const values = this.#values
    return values[ID] === undefined ? undefined : `${values[HOST]} ${values[PROCESS]} ${values[ID]}`
  }

  /** The port of the client. */
  get port(): unknown {
    return this.#values[PORT]
  }

  /** Takes the status from the line of the response. */
  answer(response: JsonEntry): void {
    this.#response = response
  }

  header(name: string): string | undefined {
    const json = this.#parsed()
    const found = textOf(this.#named('header', name)(json))
    return found === undefined && name === 'cookie' ? this.#cookies(json) : found
  }

  claim(name: string): string | number | boolean | undefined {
    const value = this.#named('claim', name)(this.#parsed())
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  }

  /** A part of the whole request line, which nginx logs. */
  #requestPart(i: number): string {
    return textOf(this.#values[REQUEST])?.split(' ')[i] ?? ''
  }

  #parsed(): Json {
    this.#json ??= parsed(this.#line) as Json
    return this.#json
  }
}

/**
 * Reads lines of JSON. `fields` maps `time`, `ip`, `method`, `path`, `status`, `header:NAME`, `cookie:NAME` and
 * `claim:NAME` to paths. Parts without a path are looked up under the usual names.
 */
export function jsonParser(fields: Fields = {}): (line: string) => JsonEntry | string {
  const momentOf = anyTimes()
  const finders = partFinders(fields, momentOf)
  const shapes = new JsonShapes(
    finders.flatMap(({ paths }) => paths),
    (values) => areUsable(finders, values),
  )
  const valuesOf = valuesBy(finders)
  const named = namedFinder(fields)
  const jars = cookieJar()
  const cookies = (line: Json): string | undefined => {
    const names = Object.keys((jars(line) as Json | undefined) ?? {}).map((name) => `cookie:${name}`)
    return cookiesIn([...Object.keys(fields), ...names], (part) => textOf(named('cookie', part.slice(7))(line)))
  }
  const entryOf = (values: Values, line: string, json?: Json): JsonEntry | undefined => {
    const at = momentOf(values[TIME])
    return at === undefined ? undefined : new JsonEntry(at, values, line, json, named, cookies)
  }
  return (line) => {
    const known = shapes.read(line)
    if (known !== undefined) return entryOf(known, line) as JsonEntry
    const json = parsed(line)
    if (json === undefined) return 'it is not a JSON object'
    const entry = entryOf(valuesOf(json), line, json)
    if (entry === undefined) return finders[TIME]?.has(json) ? 'its time is invalid' : 'it has no time'
    shapes.learn(line, json, () => learnedFrom(finders, json))
    return entry
  }
}

function areUsable(finders: readonly Finder[], values: Values): boolean {
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== undefined && !(finders[i] as Finder).isUsable(values[i])) return false
  }
  return true
}

/** Where the parts of a line are found, and the paths that are passed over. */
function learnedFrom(finders: readonly Finder[], line: Json): Learned {
  const found = finders.map(({ paths, placeIn }) => ({ paths, place: placeIn(line) }))
  // Most lines lack the last parts, which only some loggers write.
  const last = found.findLastIndex(({ place }) => place >= 0)
  return {
    picked: found.slice(0, last + 1).map(({ paths, place }) => paths[place]),
    passed: found.flatMap(({ paths, place }) => (place < 0 ? paths : paths.slice(0, place))),
  }
}

const addressIn = (text: string | undefined): string | undefined => (text === undefined ? undefined : withoutPort(text))

function parsed(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJson(value) ? value : undefined
  } catch {
    return undefined
  }
}
