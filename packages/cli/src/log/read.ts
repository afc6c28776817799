import type { Micros } from '@spillway/core'
import { commonParser } from './common.ts'
import type { Entry, Parse } from './entry.ts'
import { type Fields, jsonParser } from './json.ts'
import { eachLine } from './lines.ts'
import type { Source } from './source.ts'

export type Format = 'auto' | 'combined' | 'common' | 'json'

export interface ReadOptions {
  readonly format?: Format
  readonly fields?: Fields
  /** Is told now and then how far reading has come. */
  readonly onProgress?: (lines: number) => void
}

/** A line that is no entry. */
export interface BadLine {
  readonly file: string
  readonly line: number
  readonly reason: string
  /** Its beginning. */
  readonly text: string
}

/** What there was to read, and what could not be. */
export interface Reading {
  readonly lines: number
  readonly entries: number
  readonly bad: { readonly count: number; readonly first: readonly BadLine[] }
  /** Entries dated before one that came earlier, and by how much at most. Each was taken to have come just then. */
  readonly late: { readonly count: number; readonly most: Micros }
  readonly from: Micros | undefined
  readonly to: Micros | undefined
  /** Whether every time was one of whole seconds. */
  readonly wholeSeconds: boolean
  readonly broken: readonly string[]
}

/** How many bad lines are shown. */
const SHOWN = 5
const SHOWN_LENGTH = 120

/** Reads logs one after another, and gives each entry with the moment it counts at, which never goes back. */
export async function readLogs(
  sources: readonly Source[],
  onEntry: (entry: Entry, at: Micros, line: number) => void,
  { format = 'auto', fields = {}, onProgress }: ReadOptions = {},
): Promise<Reading> {
  const found = new Found()
  for (const source of sources) {
    let parse = format === 'auto' ? undefined : parserOf(format, fields)
    await eachLine(source.chunks(), (line, number, tooLong) => {
      found.lines++
      if (found.lines % 10_000 === 0) onProgress?.(found.lines)
      parse ??= parserOf(line.startsWith('{') ? 'json' : 'combined', fields)
      const entry = tooLong ? 'it is longer than a megabyte' : parse(line)
      if (typeof entry === 'string') found.addBad(source.name, number, entry, line)
      else onEntry(entry, found.momentFor(entry.at), number)
    })
    const problem = source.broken()
    if (problem !== undefined) found.broken.push(`${source.name} ends too early: ${problem}`)
  }
  onProgress?.(found.lines)
  return found
}

/** A reading as it grows. */
class Found implements Reading {
  lines = 0
  entries = 0
  readonly bad = { count: 0, first: [] as BadLine[] }
  readonly late = { count: 0, most: 0 }
  readonly broken: string[] = []
  from: Micros | undefined
  to: Micros | undefined
  wholeSeconds = true

  addBad(file: string, line: number, reason: string, text: string): void {
    this.bad.count++
    if (this.bad.first.length < SHOWN) this.bad.first.push({ file, line, reason, text: text.slice(0, SHOWN_LENGTH) })
  }

  /** Counts an entry, and gives the moment it counts at: that of the latest one so far. */
  momentFor(at: Micros): Micros {
    this.entries++
    this.from ??= at
    if (this.wholeSeconds && at % 1e6 !== 0) this.wholeSeconds = false
    const { to = at } = this
    if (at < to) {
      this.late.count++
      this.late.most = Math.max(this.late.most, to - at)
    }
    this.to = Math.max(at, to)
    return this.to
  }
}

const parserOf = (format: Exclude<Format, 'auto'>, fields: Fields): Parse =>
  format === 'json' ? jsonParser(fields) : commonParser()
