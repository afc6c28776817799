import type { Micros } from '@spillway/core'
import type { Json } from './json-shape.ts'

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

/** Durations, by their units: in one of a name without a unit, the text has it. Caddy's have none, and are seconds. */
export const DURATIONS = ['took:s', 'took:ms', 'took:us', 'took:ns', 'took:any', 'caddy'] as const

const DURATION_NAMES: Readonly<Record<string, readonly string[]>> = {
  'took:s': ['request_time', 'duration_s', 'duration_seconds', 'elapsed_seconds', 'time_taken'],
  'took:ms': ['responseTime', 'duration_ms', 'durationMs', 'latency_ms', 'latencyMs', 'elapsed_ms', 'response_time_ms'],
  'took:us': ['duration_us', 'latency_us', 'response_time_us'],
  // Traefik's.
  'took:ns': ['Duration'],
  'took:any': ['duration', 'latency', 'httpRequest.latency', 'elapsed'],
  caddy: ['request.remote_ip'],
}

/** The parts of a request that every line is read for, and then those by which the lines of one request are found. */
const PARTS = [
  'time',
  'ip',
  'method',
  'path',
  'status',
  'request',
  'req',
  'logged',
  'id',
  'process',
  'host',
  'port',
  'took',
  ...DURATIONS,
]

/** How pino, and loggers that are used like it, name the parts by which the lines of one request are found. */
const LOGGER: Readonly<Record<string, readonly string[]>> = {
  logged: ['req.method', 'req.url', 'res.statusCode', 'reqId'],
  id: ['reqId', 'req.id'],
  process: ['pid'],
  host: ['hostname'],
  port: ['req.remotePort'],
  took: ['responseTime'],
}

/** The value of a line at the first path that has a usable one; undefined if none has. */
export type Find = (line: Json) => unknown

/** Finds a part of a request. What it finds depends on the line alone, not on the lines before it. */
export interface Finder {
  /** The paths in the order in which they are tried. */
  readonly paths: readonly string[]
  readonly isUsable: (value: unknown) => boolean
  readonly find: Find
  /** Restricts `find` to the paths that a line with these names can have. */
  restrictTo(names: readonly string[]): void
  /** Whether a line has any value at the paths, usable or not. */
  has(line: Json): boolean
  /** The index of the path at which `find` finds its value; negative if it finds none. */
  placeIn(line: Json): number
}

/** The finders of the parts that every line is read for. */
export const partFinders = (fields: Fields, momentOf: (value: unknown) => Micros | undefined): readonly Finder[] =>
  PARTS.map((part) => {
    const paths = pathsOf(part, fields)
    if (part === 'time') return finder(paths, (value) => momentOf(value) !== undefined)
    return finder(paths, part === 'status' ? (value) => statusOf(value) !== undefined : isText)
  })

function pathsOf(part: string, fields: Fields): readonly string[] {
  const { method, path, [part]: mapped } = fields
  // An application may write the parts of a request under other names.
  if (part === 'req') return [method, path, 'req.method', 'req.url'].filter((each) => each !== undefined)
  if (LOGGER[part] !== undefined) return LOGGER[part]
  if (part.startsWith('took:') && mapped === undefined && DURATIONS.some((each) => fields[each] !== undefined))
    return []
  return mapped === undefined ? (USUAL[part] ?? DURATION_NAMES[part] ?? [part]) : [mapped]
}

/** Reads the values that finders find in a line. Most lines have the names of the line before: others are not looked up. */
export function valuesBy(finders: readonly Finder[]): (line: Json) => readonly unknown[] {
  let last: readonly string[] = []
  return (line) => {
    const names = Object.keys(line)
    if (names.length !== last.length || names.some((name, i) => name !== last[i])) {
      for (const { restrictTo } of finders) restrictTo(names)
      last = names
    }
    return finders.map(({ find }) => find(line))
  }
}

/** The finders of headers, cookies and claims, which are made when policies ask for them. */
export function namedFinder(fields: Fields): (kind: string, name: string) => Find {
  const known = new Map<string, Find>()
  return (kind, name) => {
    const id = `${kind}:${name}`
    const paths = fields[id] === undefined ? usual(kind, name) : [fields[id]]
    const found = known.get(id) ?? finder(paths, kind === 'claim' ? isScalar : isText).find
    known.set(id, found)
    return found
  }
}

/** Finds the object that holds the cookies by name. */
export const cookieJar = (): Find =>
  finder(['cookies', 'req.cookies'], (value) => typeof value === 'object' && value !== null).find

/** A status as a number; undefined if a value is none. */
export const statusOf = (value: unknown): number | undefined =>
  typeof value === 'number' || typeof value === 'string' ? Number(value) || undefined : undefined

/** The text of a value; undefined if it has none. Some logs have lists as values of headers. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string') ? value.join(', ') : undefined
  return typeof value === 'number' ? String(value) : undefined
}

/** Whether a value is a text. Servers write an empty one or a hyphen for what is missing. */
function isText(value: unknown): boolean {
  if (typeof value === 'number') return true
  const text = typeof value === 'string' ? value : textOf(value)
  return text !== undefined && text !== '' && text !== '-'
}

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

function finder(paths: readonly string[], isUsable: (value: unknown) => boolean): Finder {
  const places = paths.map((path) => ({
    path,
    first: path.split('.', 1)[0] as string,
    find: pathFinder(path),
  }))
  let present = places
  return {
    paths,
    isUsable,
    has: (line) => places.some(({ find }) => (find(line) ?? undefined) !== undefined),
    placeIn: (line) =>
      places.findIndex(({ find }) => {
        const value = find(line)
        return value !== undefined && isUsable(value)
      }),
    restrictTo(names) {
      present = places.filter(({ path, first }) => names.includes(first) || names.includes(path))
    },
    find(line) {
      for (const { find } of present) {
        const value = find(line)
        if (value !== undefined && isUsable(value)) return value
      }
      return undefined
    },
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

function usual(kind: string, name: string): readonly string[] {
  if (kind === 'cookie') return ['cookies', 'req.cookies'].map((place) => `${place}.${name}`)
  if (kind === 'claim') return [name, `claims.${name}`, `user.${name}`]
  const capitals = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
  const places = HEADERS.flatMap((place) => [`${place}.${name}`, `${place}.${capitals}`])
  return [`http_${name.replaceAll('-', '_')}`, ...places, `request_${capitals}`]
}
