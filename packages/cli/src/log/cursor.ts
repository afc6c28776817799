import type { Micros } from '@spillway/core'
import { type Entry, isList, type Located } from './entry.ts'
import { lineReader } from './formats.ts'
import type { Fields } from './json-parts.ts'
import { lineSplitter } from './lines.ts'
import { joined, type Source } from './source.ts'

/** An invalid line. */
export interface BadLine {
  readonly file: string
  readonly line: number
  readonly reason: string
  /** The start of its text. */
  readonly text: string
}

/** The lines of a log, read on demand. */
export interface Cursor {
  readonly source: Source
  /** The current line; undefined at the end. */
  readonly item: Entry | BadLine | undefined
  /** The number of the current line. */
  readonly line: number
  /** The latest time so far, by which logs are merged. */
  readonly at: Micros
  /** The first bytes of the log, decompressed. */
  readonly beginning: Uint8Array
  /** The lines read, the entries among them, and those that are no entries of their own. */
  readonly lines: number
  readonly entries: number
  readonly skipped: number
  /** The entries read of each format. */
  readonly formats: ReadonlyMap<string, number>
  /** Advances to the next line if it has been read already. */
  next(): boolean
  /** Reads the next chunk; false at the end. */
  more(): Promise<boolean>
  close(): Promise<void>
}

const SHOWN_LENGTH = 120
const BEGINNING = 4096

export const isEntry = (item: Entry | BadLine): item is Entry => 'at' in item

/** A cursor on the first line of a log. */
export async function cursorOn(source: Source, format: string, fields: Fields): Promise<Cursor> {
  const chunks = source.chunks()
  const { read, end, counts } = lineReader(format, fields)
  let items: (Entry | BadLine)[] = []
  let numbers: number[] = []
  let index = 0
  let at = -Infinity
  let ended = false
  let lines = 0
  let entries = 0
  let bad = 0
  let beginning: Uint8Array = new Uint8Array()
  const add = (entry: Entry, line: number): void => {
    items.push(entry)
    numbers.push(line)
    entries++
  }
  const addAll = (found: readonly Located[]): void => {
    for (const { entry, line } of found) add(entry, line)
  }
  const splitter = lineSplitter(source.decoder(), (text, line, problem) => {
    const parsed = problem ?? read(text, line)
    if (parsed === undefined) return
    lines++
    if (typeof parsed === 'string') {
      items.push({ file: source.name, line, reason: parsed, text: text.slice(0, SHOWN_LENGTH) })
      numbers.push(line)
      bad++
    } else if (isList(parsed)) addAll(parsed)
    else add(parsed, line)
  })
  const arrive = (): boolean => {
    const item = items[index]
    if (item !== undefined && isEntry(item) && item.at > at) at = item.at
    return item !== undefined
  }
  const cursor: Cursor = {
    source,
    get formats() {
      return counts()
    },
    get item() {
      return items[index]
    },
    get line() {
      return numbers[index] as number
    },
    get at() {
      return at
    },
    get lines() {
      return lines
    },
    get entries() {
      return entries
    },
    get skipped() {
      return lines - entries - bad
    },
    get beginning() {
      return beginning
    },
    next() {
      index++
      return arrive()
    },
    async more() {
      items = []
      numbers = []
      index = 0
      while (items.length === 0 && !ended) {
        const { value, done } = await chunks.next()
        if (done) {
          ended = true
          splitter.end()
          addAll(end())
        } else {
          if (beginning.length < BEGINNING) beginning = joined(beginning, value.subarray(0, BEGINNING))
          splitter.write(value)
        }
      }
      return arrive()
    },
    async close() {
      await chunks.return(undefined)
    },
  }
  await cursor.more()
  return cursor
}
