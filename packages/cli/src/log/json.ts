import type { Micros } from '@spillway/core'
import { withoutPort } from './address.ts'
import type { Entry, Parse } from './entry.ts'
import type { Json, Values } from './json-shape.ts'
import { JsonShapes } from './json-shapes.ts'
import { cookiesIn } from './layout.ts'
import { anyTimes } from './time.ts'

/** The fields of JSON logs: dot-separated paths by the name of the part in policies. */
export type Fields = Readonly<Record<string, string>>

/** The usual names of fields, the likeliest first. */
const USUAL: Readonly<Record<string, readonly string[]>> = {
  // Traefik's `time` is when the line was written, in whole seconds.
  time: ['StartUTC', 'time', 'timestamp', 'ts', '@timestamp', 'time_iso8601', 'msec', 'time_local', 'date'],
  ip: [
    'ip',
    'remote_addr',
    'client_ip',
    'clientip',
    'remote_ip',
    'remoteAddress',
    'req.remoteAddress',
    'request.client_ip',
    'request.remote_ip',
    'ClientHost',
  ],
  method: ['method', 'request_method', 'req.method', 'request.method', 'RequestMethod'],
  path: ['path', 'url', 'uri', 'request_uri', 'req.url', 'request.uri', 'RequestPath'],
  status: ['status', 'statusCode', 'res.statusCode', 'response.status', 'DownstreamStatus'],
}
/** Objects that hold headers by name. */
const HEADERS = ['headers', 'req.headers', 'request.headers']

/** The parts of a request that every line is read for. */
const PARTS = ['time', 'ip', 'method', 'path', 'status', 'request'] as const
const [IP, METHOD, PATH, STATUS, REQUEST] = [1, 2, 3, 4, 5] as const

type Find = (line: Json) => unknown

/** Finds the first path that exists. The path that matched the previous line is tried first. */
interface Finder {
  readonly find: Find
  /** The path that is tried first. */
  readonly first: () => string
}

/** An entry that reads its parts from the values when they are asked for: most policies ask for few. */
class JsonEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly #values: Values
  readonly #line: string
  #json: Json | undefined
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
    this.address = addressIn(text(values[IP]))
    this.#values = values
    this.#line = line
    this.#json = json
    this.#named = named
    this.#cookies = cookies
  }

  get method(): string {
    return (text(this.#values[METHOD]) ?? this.#requestPart(0)).toUpperCase()
  }

  get target(): string {
    return text(this.#values[PATH]) ?? this.#requestPart(1)
  }

  get status(): number | undefined {
    return Number(this.#values[STATUS]) || undefined
  }

  header(name: string): string | undefined {
    const json = this.#parsed()
    const found = text(this.#named('header', name)(json))
    return found === undefined && name === 'cookie' ? this.#cookies(json) : found
  }

  claim(name: string): string | number | boolean | undefined {
    const value = this.#named('claim', name)(this.#parsed())
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  }

  /** A part of the whole request line, which nginx logs. */
  #requestPart(i: number): string {
    return text(this.#values[REQUEST])?.split(' ')[i] ?? ''
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
export function jsonParser(fields: Fields = {}): Parse {
  const momentOf = anyTimes()
  const paths = PARTS.map((name) => (fields[name] === undefined ? (USUAL[name] ?? [name]) : [fields[name]]))
  const shapes = new JsonShapes(paths.flat())
  const finders = paths.map((each) => finder(each, () => shapes.clear()))
  const named = namedFinder(fields)
  const jars = finder(['cookies', 'req.cookies']).find
  const cookies = (line: Json): string | undefined => {
    const jar = jars(line)
    const names = typeof jar === 'object' && jar !== null ? Object.keys(jar).map((name) => `cookie:${name}`) : []
    return cookiesIn([...Object.keys(fields), ...names], (part) => text(named('cookie', part.slice(7))(line)))
  }
  const entryOf = (values: Values, line: string, json?: Json): Entry | string => {
    const [time] = values
    const at = momentOf(time)
    if (at === undefined) return time === undefined ? 'it has no time' : 'its time is invalid'
    return new JsonEntry(at, values, line, json, named, cookies)
  }
  return (line) => {
    const known = shapes.read(line)
    if (known !== undefined) return entryOf(known, line)
    const json = parsed(line)
    if (json === undefined) return 'it is not a JSON object'
    const values = finders.map(({ find }) => find(json))
    const entry = entryOf(values, line, json)
    if (typeof entry === 'object') shapes.learn(line, json, pathsOf(finders, values))
    return entry
  }
}

/** The paths at which values were found. */
const pathsOf = (finders: readonly Finder[], values: Values): readonly (string | undefined)[] =>
  finders.map(({ first }, i) => (values[i] === undefined ? undefined : first()))

const addressIn = (text: string | undefined): string | undefined =>
  text === undefined || text === '' || text === '-' ? undefined : withoutPort(text)

function parsed(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** `onChange` is called when another path matches. */
function finder(paths: readonly string[], onChange: () => void = () => {}): Finder {
  const finds = paths.map(pathFinder)
  let last = 0
  const find: Find = (line) => {
    const value = (finds[last] as Find)(line)
    if (value !== undefined) return value
    for (const [i, find] of finds.entries()) {
      const other = find(line)
      if (other === undefined) continue
      last = i
      onChange()
      return other
    }
  }
  return { find, first: () => paths[last] as string }
}

function pathFinder(path: string): Find {
  const names = path.split('.')
  const own = (value: unknown, name: string): unknown =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Json)[name] : undefined
  if (names.length === 1 && !(path in {})) return (line) => line[path]
  // A name may itself have dots in it.
  return (line) => own(line, path) ?? (names.length > 1 ? names.reduce<unknown>(own, line) : undefined)
}

function namedFinder(fields: Fields): (kind: string, name: string) => Find {
  const known = new Map<string, Find>()
  return (kind, name) => {
    const id = `${kind}:${name}`
    const found = known.get(id) ?? finder(fields[id] === undefined ? usual(kind, name) : [fields[id]]).find
    known.set(id, found)
    return found
  }
}

function usual(kind: string, name: string): readonly string[] {
  if (kind === 'cookie') return ['cookies', 'req.cookies'].map((place) => `${place}.${name}`)
  if (kind === 'claim') return [name, `claims.${name}`, `user.${name}`]
  const capitals = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
  const places = HEADERS.flatMap((place) => [`${place}.${name}`, `${place}.${capitals}`])
  return [`http_${name.replaceAll('-', '_')}`, ...places, `request_${capitals}`]
}

/** Some logs have lists as values of headers. */
function text(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string') ? value.join(', ') : undefined
  return typeof value === 'number' ? String(value) : undefined
}
