import { StoreError } from '../common/errors.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { CallDeadline } from '../policies/policy.ts'
import type { Deadline } from '../stores/store.ts'

// Every runtime has these, or does without, though no ECMAScript library declares them.
declare const setImmediate: ((callback: () => void) => unknown) | undefined
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

/**
 * Calls back when the deadline has passed, unless stopped by the function returned.
 *
 * Timers run before sockets are read: so the event loop first reads I/O, which finds an answer that has arrived. If the timer
 * itself is late, the event loop was blocked: the deadline is extended by that time, once.
 */
export function whenExpired(deadline: CallDeadline, callback: () => void): () => void {
  const expired = (): void => {
    stop = afterIo(callback)
  }
  // Rounded to the microsecond: a floating-point error would cost a millisecond.
  const leftMs = (): number => Math.round((deadline.atMs - monotonicMs()) * 1000) / 1000
  const firstMs = leftMs()
  let stop = setLongTimeout(Math.max(firstMs, 0), () => {
    // Of a deadline that had passed already, the timer is not late by that.
    const overrunMs = Math.min(firstMs, 0) - leftMs()
    if (overrunMs <= 0) return expired()
    const extraMs = Math.max(overrunMs, 1)
    deadline.atMs += overrunMs + extraMs
    stop = setLongTimeout(extraMs, expired)
  })
  return () => stop()
}

// Read at load time: fake timers would replace it.
const immediate = typeof setImmediate === 'function' ? setImmediate : undefined

/** Calls back when the event loop has read from its sockets. */
function afterIo(callback: () => void): () => void {
  if (immediate === undefined) return setLongTimeout(0, callback)
  const handle = immediate(callback)
  return () => clearImmediate(handle)
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
