import type { Micros } from '@spillway/core'
import { UserError } from '../io.ts'
import { type BadLine, type Cursor, cursorOn, isEntry } from './cursor.ts'
import type { Entry } from './entry.ts'
import type { Fields } from './json-parts.ts'
import type { Source } from './source.ts'

export interface ReadOptions {
  readonly format?: string
  readonly fields?: Fields
  /** Called at intervals with the progress of reading. */
  readonly onProgress?: (lines: number) => void
}

/** Receives an entry, the time at which it counts, and its position. */
export type OnEntry = (entry: Entry, at: Micros, line: number, file: string) => void

/** The counts of what was read, and of what could not be read. */
export interface Reading {
  readonly lines: number
  readonly entries: number
  /** The entries of each format, in the order of their first files. */
  readonly formats: ReadonlyMap<string, number>
  readonly bad: { readonly count: number; readonly first: readonly BadLine[] }
  /** Lines that are no requests of their own, such as messages of an application. */
  readonly skipped: number
  /**
   * Entries dated before an earlier line, and by how much at most. Each counts at the time of the earlier line; `over`
   * is the number of those for which the difference is too large.
   */
  readonly late: { readonly count: number; readonly most: Micros; readonly over: number }
  readonly from: Micros | undefined
  readonly to: Micros | undefined
  /** Whether all times were whole seconds. */
  readonly wholeSeconds: boolean
  readonly broken: readonly string[]
  /** Logs with lines, none of which could be read. */
  readonly unreadable: readonly string[]
  /** Entries without a client's address. */
  readonly withoutAddress: number
}

/** The number of bad lines that are reported. */
const SHOWN = 5
/** Apache logs a request when it ends, with the time of its start: a line may be this late. */
export const TOLERATED_LATENESS: Micros = 60e6

/**
 * Merges logs by time, and passes on each entry with the time at which it counts, which never decreases. Logs may be
 * listed in any order and may overlap, such as those of several servers.
 */
export async function readLogs(
  sources: readonly Source[],
  onEntry: OnEntry,
  { format = 'auto', fields = {}, onProgress }: ReadOptions = {},
): Promise<Reading> {
  const found = new Found()
  const open = (source: Source): Promise<Cursor> => cursorOn(source, format, fields)
  const waiting = await inOrder(sources, open)
  const active: Cursor[] = []
  for (;;) {
    let cursor = active.reduce<Cursor | undefined>(
      (least, each) => (least && least.at <= each.at ? least : each),
      undefined,
    )
    const [soonest] = waiting
    if (soonest && (cursor === undefined || soonest.at <= cursor.at)) {
      waiting.shift()
      cursor = await soonest.open()
      active.push(cursor)
      continue
    }
    if (cursor === undefined) break
    const others = active.filter((each) => each !== cursor).map(({ at }) => at)
    const more = await drain(cursor, Math.min(soonest?.at ?? Infinity, ...others), found, onEntry, onProgress)
    if (!more) active.splice(active.indexOf(cursor), 1)
  }
  onProgress?.(found.lines)
  return found
}

/** Reads a log until it is ahead of the others; false at its end. */
async function drain(
  cursor: Cursor,
  until: Micros,
  found: Found,
  onEntry: OnEntry,
  onProgress: ReadOptions['onProgress'],
): Promise<boolean> {
  const { name } = cursor.source
  while (cursor.at <= until) {
    const { item, line } = cursor
    if (item === undefined) {
      found.end(cursor)
      return false
    }
    found.lines++
    if (found.lines % 10_000 === 0) onProgress?.(found.lines)
    if (isEntry(item)) onEntry(item, found.momentFor(item), line, name)
    else found.addBad(item)
    if (!cursor.next()) await cursor.more()
  }
  return true
}

/** A log to be read from a given time on. */
interface Waiting {
  readonly at: Micros
  open(): Promise<Cursor>
}

/** Logs in the order of their first entries. A log that can be reopened is closed until it is needed. */
async function inOrder(sources: readonly Source[], open: (source: Source) => Promise<Cursor>): Promise<Waiting[]> {
  const [only] = sources
  if (sources.length === 1 && only) return [{ at: -Infinity, open: () => open(only) }]
  const waiting: Waiting[] = []
  const seen: Cursor[] = []
  for (const source of sources) {
    const cursor = await open(source)
    rejectDuplicates(seen, cursor)
    seen.push(cursor)
    const rewinds = source.size !== undefined
    const at = rewinds ? await firstTime(cursor) : cursor.at
    if (rewinds) await cursor.close()
    waiting.push({ at, open: () => (rewinds ? open(source) : Promise.resolve(cursor)) })
  }
  return waiting.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
}

async function firstTime(cursor: Cursor): Promise<Micros> {
  while (cursor.at === -Infinity && cursor.item !== undefined) if (!cursor.next()) await cursor.more()
  return cursor.at
}

/** A log beside its packed copy would count each request twice. */
function rejectDuplicates(seen: readonly Cursor[], { source, beginning }: Cursor): void {
  const twin = seen.find((other) => {
    const length = Math.min(other.beginning.length, beginning.length)
    return length > 0 && beginning.subarray(0, length).every((byte, i) => byte === other.beginning[i])
  })
  if (twin) {
    throw new UserError(`${twin.source.name} and ${source.name} begin with the same lines: give each log once.`)
  }
}

/** A reading in progress. */
class Found implements Reading {
  lines = 0
  entries = 0
  skipped = 0
  withoutAddress = 0
  readonly formats = new Map<string, number>()
  readonly bad = { count: 0, first: [] as BadLine[] }
  readonly late = { count: 0, most: 0, over: 0 }
  readonly broken: string[] = []
  readonly unreadable: string[] = []
  from: Micros | undefined
  to: Micros | undefined
  wholeSeconds = true

  addBad(bad: BadLine): void {
    this.bad.count++
    if (this.bad.first.length < SHOWN) this.bad.first.push(bad)
  }

  /** Counts an entry, and returns the time at which it counts: the latest time so far. */
  momentFor({ at, address }: Entry): Micros {
    this.entries++
    if (address === undefined) this.withoutAddress++
    this.from ??= at
    if (this.wholeSeconds && Math.floor(at / 1e6) * 1e6 !== at) this.wholeSeconds = false
    const { to = at } = this
    if (at < to) {
      this.late.count++
      this.late.most = Math.max(this.late.most, to - at)
      if (to - at > TOLERATED_LATENESS) this.late.over++
    }
    this.to = Math.max(at, to)
    return this.to
  }

  end({ source, lines, entries, skipped, formats }: Cursor): void {
    this.lines += skipped
    this.skipped += skipped
    for (const [name, count] of formats) this.formats.set(name, (this.formats.get(name) ?? 0) + count)
    const problem = source.broken()
    if (problem !== undefined) this.broken.push(`${source.name} ends too early: ${problem}`)
    if (lines > 0 && entries === 0) this.unreadable.push(source.name)
  }
}
