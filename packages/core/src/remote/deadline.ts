import { StoreError } from '../common/errors.ts'
import { LONGEST_TIMER } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { CallDeadline } from '../policies/policy.ts'
import type { Deadline } from '../stores/store.ts'

// Every runtime has these, or does without the last two, though no ECMAScript library declares them.
declare function setTimeout<T>(callback: (about: T) => void, millis: number, about: T): unknown
declare function clearTimeout(timer: unknown): void
declare const setImmediate: (<T>(callback: (about: T) => void, about: T) => unknown) | undefined
declare const clearImmediate: (immediate: unknown) => void

/** The deadline of what began at `startMs`: now by default. */
export function deadlineIn(span: Micros, startMs: number = monotonicMs()): CallDeadline {
  const spanMs = span / 1000
  return { atMs: startMs + spanMs, spanMs }
}

/** The latest of several deadlines, which grows with them; undefined if a caller has none. */
export function latestDeadline(deadlines: readonly (Deadline | undefined)[]): Deadline | undefined {
  const all = deadlines.filter((deadline) => deadline !== undefined)
  if (all.length < deadlines.length) return undefined
  return {
    get atMs() {
      return Math.max(...all.map(({ atMs }) => atMs))
    },
  }
}

/** Reports whether the caller has stopped waiting. */
export const isExpired = (deadline: Deadline | undefined): boolean =>
  deadline !== undefined && monotonicMs() >= deadline.atMs

/** The error of a call that is not sent because its deadline has passed. */
export const expiredError = (): StoreError =>
  new StoreError('The deadline passed before the store could be asked.', undefined, { reason: 'timeout' })

// Read at load time: fake timers would replace it.
const immediate = typeof setImmediate === 'function' ? setImmediate : undefined

/**
 * Calls `onExpired` when the deadline has passed, unless stopped.
 *
 * Timers run before sockets are read: so the event loop first reads I/O, which finds an answer that has arrived. If the timer
 * itself is late, the event loop was blocked: the deadline is extended by that time, once. It is an object with methods because
 * one is made for each call of a store.
 */
export abstract class DeadlineTimer {
  readonly deadline: CallDeadline
  #timer: unknown
  #immediate: unknown
  /** How long the deadline was away at the start; undefined once it has been extended. */
  #firstMs: number | undefined
  /** What the timer does not count: a timer has a longest time. */
  #restMs = 0

  constructor(deadline: CallDeadline) {
    this.deadline = deadline
  }

  /** For its timer, when the event loop has read from its sockets. */
  abstract onExpired(): void

  protected startTimer(): void {
    this.#firstMs = leftMs(this.deadline)
    this.#count(Math.max(this.#firstMs, 0))
  }

  stopTimer(): void {
    clearTimeout(this.#timer)
    if (this.#immediate !== undefined) clearImmediate(this.#immediate)
  }

  #count(millis: number): void {
    const span = Math.min(millis, LONGEST_TIMER)
    this.#restMs = millis - span
    this.#timer = setTimeout(onTimer, Math.ceil(span), this)
  }

  /** For its timer: extends the deadline if that is late, and otherwise lets the event loop read first. */
  onTimer(): void {
    if (this.#restMs > 0) {
      this.#count(this.#restMs)
      return
    }
    if (this.#firstMs !== undefined) {
      // Of a deadline that had passed already, the timer is not late by that.
      const overrunMs = Math.min(this.#firstMs, 0) - leftMs(this.deadline)
      this.#firstMs = undefined
      if (overrunMs > 0) {
        const extraMs = Math.max(overrunMs, 1)
        this.deadline.atMs += overrunMs + extraMs
        this.#count(extraMs)
        return
      }
    }
    if (immediate === undefined) this.#timer = setTimeout(onIoRead, 0, this)
    else this.#immediate = immediate(onIoRead, this)
  }
}

// Not static methods: a class that refers to itself stays in bundles that do not use it.
const onTimer = (timer: DeadlineTimer): void => timer.onTimer()
const onIoRead = (timer: DeadlineTimer): void => timer.onExpired()

/** Rounded to the microsecond: a floating-point error would cost a millisecond. */
const leftMs = ({ atMs }: Deadline): number => Math.round((atMs - monotonicMs()) * 1000) / 1000

class CallbackTimer extends DeadlineTimer {
  readonly #callback: () => void

  constructor(deadline: CallDeadline, callback: () => void) {
    super(deadline)
    this.#callback = callback
    this.startTimer()
  }

  onExpired(): void {
    this.#callback()
  }
}

/** Calls back when the deadline has passed, unless stopped by the function returned. */
export function whenExpired(deadline: CallDeadline, callback: () => void): () => void {
  const timer = new CallbackTimer(deadline, callback)
  return () => timer.stopTimer()
}

/** The promise's value, or undefined if the deadline passes first or the promise rejects. */
export function unlessExpired<T>(promise: Promise<T>, deadline: CallDeadline): Promise<T | undefined> {
  return new Promise((resolve) => {
    const stop = whenExpired(deadline, () => resolve(undefined))
    const end = (value?: T): void => {
      stop()
      resolve(value)
    }
    promise.then(end, () => end())
  })
}
