import type { Micros } from '../common/time.ts'
import type { SlidingLogState } from '../kernels/sliding-log.ts'

/**
 * The log of a key, changed in place: the index of its first entry, all units, and then the entries, oldest first, each a
 * moment and its units. Expired entries are skipped by moving the index: removing them from the front of a list copies it.
 */
export type Log = number[]

/** Where a log has the index of its first entry. */
export const FIRST = 0
/** Where it has the sum of all units. */
export const UNITS = 1
/** Where its entries begin. */
export const HEAD = 2
/** A log is compacted when this many numbers, and half of it, are unused. */
const UNUSED = 32

/** The log of a state. */
export function logOf(state: SlidingLogState): Log {
  let units = 0
  for (let i = 1; i < state.length; i += 2) units += state[i] as number
  return [HEAD, units, ...state]
}

/** The state of a log, without expired entries. */
export const stateOf = (log: Log): SlidingLogState => log.slice(log[FIRST])

/** Starts a log with its first entry. */
export const newLog = (now: Micros, units: number): Log => [HEAD, units, now, units]

/** Removes the entries before `first`, and adds units at `now`, no earlier than any entry. `used` are the units left. */
export function append(log: Log, first: number, used: number, now: Micros, units: number): void {
  log[UNITS] = used + units
  if (log[log.length - 2] === now) log[log.length - 1] = (log[log.length - 1] as number) + units
  else log.push(now, units)
  if (first - HEAD < UNUSED || 2 * first < log.length) log[FIRST] = first
  else {
    log.splice(HEAD, first - HEAD)
    log[FIRST] = HEAD
  }
}

/** The moment of the entry with which `units` have left the log, from the entry at `first` on; undefined if they never have. */
export function leavingAt(log: Log, first: number, units: number): Micros | undefined {
  let left = units
  for (let i = first; i < log.length; i += 2) {
    left -= log[i + 1] as number
    if (left <= 0) return log[i] as Micros
  }
  return undefined
}
