import { clientAddress } from '@spillway/core/http'
import { type Io, progressBar, UserError } from '../io.ts'
import { type Entry, entryReader } from '../log/entry.ts'
import { openSource } from '../log/file.ts'
import { hasFields } from '../log/formats.ts'
import { type OnEntry, type Reading, readLogs } from '../log/read.ts'
import type { Source } from '../log/source.ts'
import { fieldsOf } from './options.ts'

/** The options for reading logs. */
export interface LogOptions {
  /** The name of a format, or a format string. */
  readonly format: string
  readonly field: readonly string[]
  readonly trustProxy?: number
  readonly ipv6Prefix: number
  readonly unreadableAtMost: string
}

/** Opens logs, or standard input if none is named. Throws a UserError if one cannot be read. */
export async function openAll(paths: readonly string[], { stdin, stderr }: Io): Promise<readonly Source[]> {
  if (paths.length === 0 && stdin.isTTY) {
    throw new UserError('no log is given: name one, or pipe one into standard input.')
  }
  if (paths.includes('-') && stdin.isTTY) {
    stderr.write('spillway: waiting for the lines of a log on standard input; Ctrl+D ends it.\n')
  }
  const sources: Source[] = []
  for (const path of paths.length === 0 ? ['-'] : paths) {
    const source = await openSource(path, stdin)
    const twin = sources.find(({ id }) => id === source.id)
    if (twin) throw new UserError(`${twin.name} and ${source.name} are one log: give each log once.`)
    sources.push(source)
  }
  return sources
}

/** Reads logs, with a progress bar on a terminal. */
export async function readAll(
  sources: readonly Source[],
  onEntry: OnEntry,
  { format, field }: LogOptions,
  io: Io,
): Promise<Reading> {
  if (field.length > 0 && !hasFields(format)) {
    throw new UserError(`--field maps fields of JSON lines; --format ${format} has none.`)
  }
  const known = sources.every(({ size }) => size !== undefined)
  const bar = progressBar(io.stderr, known ? sumOf(sources, ({ size }) => size as number) : undefined)
  const onProgress = (lines: number): void =>
    bar.update(
      sumOf(sources, ({ done }) => done()),
      lines,
    )
  try {
    return await readLogs(sources, onEntry, { format, fields: fieldsOf(field), onProgress })
  } finally {
    bar.clear()
  }
}

const sumOf = <T>(list: readonly T[], of: (each: T) => number): number => list.reduce((all, each) => all + of(each), 0)

export function addressOf(hops: number | undefined): ((entry: Entry) => string | undefined) | undefined {
  return hops === undefined
    ? undefined
    : clientAddress(hops, { peer: ({ address }) => address, header: (entry, name) => entryReader.header(entry, name) })
}

/** Prints the reasons against a verdict; true if there are any. */
export function reportDoubts(doubts: readonly string[], { stderr }: Io): boolean {
  for (const doubt of doubts) stderr.write(`spillway: no verdict: ${doubt}.\n`)
  return doubts.length > 0
}
