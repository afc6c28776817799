import type { Micros } from '@spillway/core'
import { plainPath } from '@spillway/core/http'
import { type Entry, entryReader } from '../log/entry.ts'

/** A value of the denied requests, and how many of them have it. */
export interface Share {
  readonly value: string
  readonly denied: number
}

/** The denied requests by their parts, the most frequent values first. Hours are those of the day, in UTC. */
export interface BreakdownResult {
  readonly path: readonly Share[]
  readonly method: readonly Share[]
  readonly status: readonly Share[]
  readonly hour: readonly Share[]
}

/** The most values that are counted: a scan of many paths must not fill the memory. */
const MOST_VALUES = 20_000
const SHOWN = 10
/** The value of the requests that are not counted by their own. */
const OTHERS = 'others'

/** Counts denied requests by path, method, status and hour. */
export class Breakdown {
  readonly #counts = { path: new Map(), method: new Map(), status: new Map(), hour: new Map() } satisfies Record<
    keyof BreakdownResult,
    Map<string, number>
  >

  add(entry: Entry, at: Micros): void {
    const { path, method, status, hour } = this.#counts
    increment(path, plainPath(entryReader.path(entry)) || '(none)')
    increment(method, entry.method || '(none)')
    increment(status, entry.status === undefined ? '(none)' : String(entry.status))
    increment(hour, `${String(new Date(at / 1000).getUTCHours()).padStart(2, '0')}:00`)
  }

  result(): BreakdownResult {
    const { path, method, status, hour } = this.#counts
    return { path: topOf(path), method: topOf(method), status: topOf(status), hour: topOf(hour) }
  }
}

function increment(counts: Map<string, number>, value: string): void {
  const known = counts.get(value)
  const name = known === undefined && counts.size >= MOST_VALUES ? OTHERS : value
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const topOf = (counts: ReadonlyMap<string, number>): readonly Share[] =>
  [...counts]
    .map(([value, denied]) => ({ value, denied }))
    .sort((a, b) => b.denied - a.denied || (a.value < b.value ? -1 : 1))
    .slice(0, SHOWN)
