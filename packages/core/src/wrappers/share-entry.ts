import type { StateKey } from '../stores/store.ts'
import type { Lease } from './lease.ts'
import { type Entry, newEntry } from './lease-entry.ts'
import { type Demand, noDemand } from './share.ts'
import type { Waiter } from './waiters.ts'

/** The share of a key, and the requests that wait for one. */
export interface ShareEntry extends Entry {
  readonly waiters: Waiter[]
  readonly demand: Demand
  /** What follows the share in `lease`, acquired ahead of need. */
  next: Lease | undefined
  /** Whether the last share was smaller than asked for. */
  isShort: boolean
  /** Until when no share is acquired ahead of need, after a failure. */
  failedMs: number
  /** How long the store took to answer. */
  tripMs: number
}

export const newShare = (key: StateKey): ShareEntry => ({
  ...newEntry(key),
  waiters: [],
  demand: noDemand(),
  next: undefined,
  isShort: false,
  failedMs: 0,
  tripMs: 0,
})
