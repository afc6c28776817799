import type { Micros } from '@spillway/core'
import { withoutPort } from './address.ts'
import type { Entry, Parse } from './entry.ts'
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

type Json = Readonly<Record<string, unknown>>
type Find = (line: Json) => unknown

class JsonEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly method: string
  readonly target: string
  readonly status: number | undefined
  readonly #line: Json
  readonly #named: (kind: string, name: string) => Find
  readonly #cookies: (line: Json) => string | undefined

  constructor(
    at: Micros,
    line: Json,
    found: Omit<Entry, 'at' | 'header' | 'claim'>,
    named: (kind: string, name: string) => Find,
    cookies: (line: Json) => string | undefined,
  ) {
    this.at = at
    this.address = found.address
    this.method = found.method
    this.target = found.target
    this.status = found.status
    this.#line = line
    this.#named = named
    this.#cookies = cookies
  }

  header(name: string): string | undefined {
    const found = text(this.#named('header', name)(this.#line))
    return found === undefined && name === 'cookie' ? this.#cookies(this.#line) : found
  }

  claim(name: string): string | number | boolean | undefined {
    const value = this.#named('claim', name)(this.#line)
    return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
  }
}

/**
 * Reads lines of JSON. `fields` maps `time`, `ip`, `method`, `path`, `status`, `header:NAME`, `cookie:NAME` and
 * `claim:NAME` to paths. Parts without a path are looked up under the usual names.
 */
export function jsonParser(fields: Fields = {}): Parse {
  const momentOf = anyTimes()
  const [time, ip, method, path, status, request] = ['time', 'ip', 'method', 'path', 'status', 'request'].map((name) =>
    finder(fields[name] === undefined ? (USUAL[name] ?? [name]) : [fields[name]]),
  ) as [Find, Find, Find, Find, Find, Find]
  const named = namedFinder(fields)
  const jars = finder(['cookies', 'req.cookies'])
  const cookies = (line: Json): string | undefined => {
    const jar = jars(line)
    const names = typeof jar === 'object' && jar !== null ? Object.keys(jar).map((name) => `cookie:${name}`) : []
    return cookiesIn([...Object.keys(fields), ...names], (part) => text(named('cookie', part.slice(7))(line)))
  }
  return (line) => {
    const json = parsed(line)
    if (json === undefined) return 'it is not a JSON object'
    const momentText = time(json)
    const at = momentOf(momentText)
    if (at === undefined) return momentText === undefined ? 'it has no time' : 'its time is invalid'
    // nginx logs the whole request line.
    const whole = text(request(json))?.split(' ') ?? []
    const found = {
      address: addressIn(text(ip(json))),
      method: (text(method(json)) ?? whole[0] ?? '').toUpperCase(),
      target: text(path(json)) ?? whole[1] ?? '',
      status: Number(status(json)) || undefined,
    }
    return new JsonEntry(at, json, found, named, cookies)
  }
}

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

/** Finds the first path that exists. The path that matched the previous line is tried first. */
function finder(paths: readonly string[]): Find {
  const finds = paths.map(pathFinder)
  let last = finds[0] as Find
  return (line) => {
    const value = last(line)
    if (value !== undefined) return value
    for (const find of finds) {
      const other = find(line)
      if (other === undefined) continue
      last = find
      return other
    }
  }
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
    const found = known.get(id) ?? finder(fields[id] === undefined ? usual(kind, name) : [fields[id]])
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
