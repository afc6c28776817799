import { invalidOption } from '@spillway/core/internal'
import type { List, Place } from './list.ts'

/** The priorities, the highest first: a number is the index of one. */
export const PRIORITIES = ['critical', 'default', 'sheddable'] as const

/** What is dropped last, or first. */
export type Priority = (typeof PRIORITIES)[number]

/** The index of a priority. Throws a `QuotaError` if there is none of that name. */
export function tierOf(priority: Priority): number {
  const tier = PRIORITIES.indexOf(priority)
  if (tier < 0) throw invalidOption("priority must be 'critical', 'default' or 'sheddable'", priority)
  return tier
}

/**
 * Why a call was dropped: the queue was full; there is no queue, and the limit was reached; it waited too long, in the queue or for
 * the event loop; or calls of a higher priority took its place.
 */
export type DropReason = 'queue-full' | 'concurrency-limit' | 'time-out' | 'priority'

/** The callers of some keys. */
export interface Lane {
  readonly waiters: List<Waiter>
  /** Its place among the lanes that have waiters; undefined if it has none. */
  turn: Place<Lane> | undefined
}

/** A caller that waits for its turn. */
export interface Waiter {
  readonly tier: number
  readonly arrivedAt: number
  /** Its places in the order of all arrivals, and among those of its key. */
  readonly age: Place<Waiter>
  readonly own: Place<Waiter>
  readonly lane: Lane
  /** Called once: without a reason when it is its turn. */
  readonly decided: (reason: DropReason | undefined) => void
}
