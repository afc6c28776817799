// Every runtime has these, or does without the last two, though no ECMAScript library declares them.
declare const performance: { now(): number }
declare function setTimeout(callback: () => void, millis: number): unknown
declare function clearTimeout(timer: unknown): void
declare const setImmediate: ((callback: () => void) => unknown) | undefined
declare const clearImmediate: (immediate: unknown) => void

/** The time of the process that deadlines are of, in milliseconds. */
export const nowMs = (): number => performance.now()

export const startTimer = (callback: () => void, millis: number): unknown => setTimeout(callback, millis)
export const stopTimer = (timer: unknown): void => clearTimeout(timer)

// Bound at load: fake timers would stop it.
const hasImmediate = typeof setImmediate === 'function'

/** Runs after the event loop has read from its sockets, and after all requests of the tick. */
export const afterIo: (callback: () => void) => unknown = hasImmediate
  ? setImmediate
  : (callback) => setTimeout(callback, 0)
export const cancelIo: (turn: unknown) => void = hasImmediate ? clearImmediate : clearTimeout
