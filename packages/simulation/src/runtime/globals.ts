import { performance } from 'node:perf_hooks'

// The code under test reads its clocks, timers and random numbers from globals, and some modules read them when they are
// loaded. This module replaces them, so it is imported before all others. Outside of a simulation they are the real ones.

/** What a simulated process has in place of the globals. */
export interface Globals {
  /** The monotonic clock in milliseconds. */
  now(): number
  /** The wall clock in whole milliseconds since 1970. */
  wall(): number
  random(): number
  setTimeout(callback: () => void, millis: number): object
  clearTimeout(timer: object): void
  setImmediate(callback: () => void): object
  clearImmediate(immediate: object): void
}

let current: Globals | undefined

/** Makes the globals those of a process, or the real ones. */
export function useGlobals(globals: Globals | undefined): void {
  current = globals
}

/** The simulated process whose globals are in use. */
export const currentProcess = (): Globals | undefined => current

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  dateNow: Date.now,
  now: performance.now.bind(performance),
  random: Math.random,
}

/** Runs a callback on the real event loop, after all microtasks. */
export const realImmediate: (callback: () => void) => void = real.setImmediate
/** The real monotonic clock in milliseconds. */
export const realNow: () => number = real.now

type Callback = (...given: unknown[]) => void

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

replace(globalThis, 'setTimeout', (callback: Callback, millis = 0, ...given: unknown[]) =>
  current ? current.setTimeout(() => callback(...given), millis) : real.setTimeout(callback, millis, ...given),
)
replace(globalThis, 'clearTimeout', (timer: never) =>
  current && timer ? current.clearTimeout(timer) : real.clearTimeout(timer),
)
replace(globalThis, 'setImmediate', (callback: Callback, ...given: unknown[]) =>
  current ? current.setImmediate(() => callback(...given)) : real.setImmediate(callback, ...given),
)
replace(globalThis, 'clearImmediate', (immediate: never) =>
  current && immediate ? current.clearImmediate(immediate) : real.clearImmediate(immediate),
)
replace(Date, 'now', () => (current ? current.wall() : real.dateNow()))
replace(performance, 'now', () => (current ? current.now() : real.now()))
replace(Math, 'random', () => (current ? current.random() : real.random()))
