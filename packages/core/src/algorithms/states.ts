import type { Micros } from '../common/time.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import type { SlidingWindowState } from '../kernels/sliding-window.ts'
import type { Log } from './stored-log.ts'

// The states of one policy in an in-memory store, as far as takes on stored numbers read and write them.

/** The slots of keys, each with a timestamp. */
export interface Slots {
  /** The slot of a key; -1 if it has none. */
  find(key: string): number
  moment(slot: number): Micros
  move(slot: number, moment: Micros): void
}

/** How much earlier than its timestamp the bucket of a slot is full again, in parts of a microsecond. */
export interface Earlies {
  /** How many parts a microsecond has; 1 if nothing is stored. */
  readonly scale: number
  set(slot: number, early: number): void
}

/** The largest count of a window: 2^32 - 1. */
export const MOST_COUNT: number = 4_294_967_295

/** The windows of slots. */
export interface Windows {
  start(slot: number): Micros
  current(slot: number): number
  previous(slot: number): number
  setCurrent(slot: number, current: number): void
}

/** The states of one policy. */
export interface States {
  readonly slots: Slots
  readonly earlies: Earlies
  readonly windows: Windows
  /** Adds a key. `used` is the time in which the units of its state refill. */
  insert(key: string, used: Micros, now: Micros): number
  /** The state of a slot that is neither a number nor a window. */
  other(slot: number): unknown
  /** Reports whether a slot that has no bucket has the window of this start, and of this time per unit. */
  isWindow(slot: number, start: Micros, unit: Micros): boolean
  writeWindow(slot: number, start: Micros, current: number, previous: number, at: Micros, unit: Micros): void
  writeOther(slot: number, state: Log | SlidingWindowState, at: Micros, unit: Micros): void
}

/** What `look` has found. */
export interface Found {
  slot: number
  /** The key, if it has no slot. */
  key: string
}

/** A result that its prepared take overwrites. */
export type Reused<T> = { -readonly [Name in keyof T]: T[Name] }

/** The slot of a key without a state. */
export const NONE = -1
/** The slot of a state that the kernel itself takes. */
export const GENERAL = -2

/** Reports whether a step consumes from a bucket that starts full, without waiting. */
export const isPlain = ({ start, maxWaitMicros, tolerance, ceiling }: BucketStep): boolean =>
  start === null && maxWaitMicros === 0 && tolerance <= ceiling
