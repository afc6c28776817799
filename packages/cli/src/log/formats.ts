import type { Micros } from '@spillway/core'
import { UserError } from '../io.ts'
import { commonParser } from './common.ts'
import { type Entry, isList, type Located, type Parse, type ReadLine } from './entry.ts'
import { type JsonEntry, jsonParser } from './json.ts'
import type { Fields } from './json-parts.ts'
import { RequestLines } from './request-lines.ts'
import { isTemplate, templateParser } from './template.ts'
import { w3cParser } from './w3c.ts'

/** The default access log of Amazon's Application Load Balancer. */
const ALB =
  '$- $time_iso8601 $- $remote_addr $- $took_s $took_s $took_s $status $- $- $- "$request" "$http_user_agent" $- $- $- "$-" "$http_host" '

/** Envoy's default access log. */
const ENVOY =
  '[$time_iso8601] "$request" $status $- $- $- $took_ms $- "$http_x_forwarded_for" "$http_user_agent" "$http_x_request_id" "$http_host"'

/** Reads the lines of one format. */
interface FormatReader {
  readonly read: ReadLine
  /** Returns the requests that are held at the end. */
  end?(): readonly Located[]
}

const READERS = {
  combined: () => ({ read: commonParser('client') }),
  vhost: () => ({ read: commonParser('host') }),
  json: jsonReader,
  cloudfront: () => ({ read: w3cParser() }),
  alb: () => ({ read: templateParser(ALB) }),
  envoy: () => ({ read: envoyParser() }),
} satisfies Record<string, (fields: Fields) => FormatReader>

type Reader = keyof typeof READERS

/** The names of formats, and how each is read. */
const FORMATS: Readonly<Record<string, Reader | 'auto'>> = {
  auto: 'auto',
  combined: 'combined',
  common: 'combined',
  nginx: 'combined',
  apache: 'combined',
  vhost: 'vhost',
  json: 'json',
  caddy: 'json',
  pino: 'json',
  traefik: 'auto',
  cloudfront: 'cloudfront',
  alb: 'alb',
  envoy: 'envoy',
}

export const FORMAT_NAMES: readonly string[] = Object.keys(FORMATS)

/** Whether a format has fields that `--field` can map. */
export const hasFields = (format: string): boolean => ['auto', 'json'].includes(FORMATS[format] ?? '')

/** A reader of lines, and how many entries of each format it has read. */
export interface LineReader extends Required<FormatReader> {
  /** In the order of their first entries. */
  counts(): ReadonlyMap<string, number>
}

/** The reader of a format: a name, or a format string. Throws a UserError if it is neither. */
export function lineReader(format: string, fields: Fields): LineReader {
  const counters: { readonly name: string; entries: number }[] = []
  const ends: (() => readonly Located[])[] = []
  const counts = (): ReadonlyMap<string, number> => new Map(counters.map(({ name, entries }) => [name, entries]))
  const end = (): readonly Located[] => ends.flatMap((each) => each())
  const counted = (name: string, reader: FormatReader): ReadLine => {
    const { read } = reader
    const counter = { name, entries: 0 }
    const add = (entries: number): void => {
      if (counter.entries === 0 && entries > 0) counters.push(counter)
      counter.entries += entries
    }
    ends.push(() => {
      const rest = reader.end?.() ?? []
      add(rest.length)
      return rest
    })
    return (line, number) => {
      const parsed = read(line, number)
      if (typeof parsed === 'object') add(isList(parsed) ? parsed.length : 1)
      return parsed
    }
  }
  if (isTemplate(format)) return { read: counted('your format', { read: templateParser(format) }), end, counts }
  const reader = FORMATS[format]
  if (reader === undefined) {
    throw new UserError(
      `--format is ${FORMAT_NAMES.join(', ')}, or a format string such as '$remote_addr [$time_local] "$request"'; got ${JSON.stringify(format)}.`,
    )
  }
  if (reader !== 'auto') return { read: counted(reader, READERS[reader](fields)), end, counts }
  const known = new Map<Reader, ReadLine>()
  const readerOf = (name: Reader): ReadLine => {
    const made = counted(name, name === 'combined' ? { read: commonParser() } : READERS[name](fields))
    known.set(name, made)
    return made
  }
  return {
    end,
    counts,
    read: (line, number) => {
      const name = formatOf(line)
      return (known.get(name) ?? readerOf(name))(line, number)
    },
  }
}

/** Reads JSON, of which a request may have several lines, and others none. */
function jsonReader(fields: Fields): FormatReader {
  const parse = jsonParser(fields)
  const mapped = Object.keys(fields).map((field) => field.split(/:(.*)/, 2) as [kind: string, name?: string])
  const hasMapped = (entry: JsonEntry): boolean =>
    mapped.some(([kind, name]) => {
      if (name === undefined) return false
      if (kind === 'claim') return entry.claim(name) !== undefined
      return entry.header(kind === 'cookie' ? kind : name) !== undefined
    })
  const lines = new RequestLines((entry) => entry.hasPart || hasMapped(entry))
  return {
    read: (line, number) => {
      const parsed = parse(line)
      return typeof parsed === 'string' ? parsed : lines.read(parsed, number)
    },
    end: () => lines.end(),
  }
}

const [TAB, HASH, DIGIT, BRACKET, BRACE] = ['\t', '#', '9', '[', '{'].map((text) => text.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
]

/** The format of a line, by how it begins. */
function formatOf(line: string): Reader {
  const first = line.charCodeAt(0)
  if (first === BRACE) return 'json'
  if (first === HASH || line.charCodeAt(10) === TAB) return 'cloudfront'
  if (first <= DIGIT) return 'combined'
  if (first === BRACKET) return /^\[\d{4}-\d\d-\d\dT/.test(line) ? 'envoy' : 'combined'
  return /^(https?|h2|grpcs?|wss?) \d{4}-\d\d-\d\dT/.test(line) ? 'alb' : 'combined'
}

/**
 * Envoy's default log has no address of its own: the last one of `X-Forwarded-For` is that of the client that connected,
 * which Envoy adds, and those before it are what the client sent.
 */
function envoyParser(): Parse {
  const parse = templateParser(ENVOY, true)
  return (line) => {
    const entry = parse(line)
    return typeof entry === 'object' ? new EnvoyEntry(entry) : entry
  }
}

class EnvoyEntry implements Entry {
  readonly at: Micros
  readonly address: string | undefined
  readonly #entry: Entry

  constructor(entry: Entry) {
    const forwarded = entry.header('x-forwarded-for') ?? ''
    this.at = entry.at
    this.address = forwarded.slice(forwarded.lastIndexOf(',') + 1).trim() || undefined
    this.#entry = entry
  }

  get method(): string {
    return this.#entry.method
  }

  get target(): string {
    return this.#entry.target
  }

  get status(): number | undefined {
    return this.#entry.status
  }

  get took(): Micros | undefined {
    return this.#entry.took
  }

  get isTimeOfStart(): boolean {
    return true
  }

  header(name: string): string | undefined {
    const value = this.#entry.header(name)
    if (name !== 'x-forwarded-for') return value
    const addresses = (value ?? '').split(',').map((text) => text.trim())
    return addresses.slice(0, -1).join(', ') || undefined
  }

  claim(name: string): string | number | boolean | undefined {
    return this.#entry.claim(name)
  }
}
