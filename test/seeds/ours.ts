import { fakeClock, START } from '@spillway/conformance'
import type { Quota } from '@spillway/core'
import { memoryStore, rateLimiter, steadyClock } from '@spillway/memory'

/** A limiter on one quota, asked at milliseconds of our choosing. */
export function ours(quota: Quota) {
  const clock = fakeClock()
  const limiter = rateLimiter({ quota, store: memoryStore({ clock }) })
  const at = (ms: number) => {
    clock.advanceMicros(START + Math.round(ms * 1000) - clock())
    return limiter
  }
  const passes = (ms: number, cost = 1): boolean => at(ms).consumeSync('alice', cost).allowed
  return { clock, limiter, at, passes }
}

/** A limiter on a machine with clock steps: `at` lets time pass, `set` only steps the clock. */
export function onAMachine(quota: Quota) {
  const startMs = START / 1000
  const machine = { wall: startMs, stopwatch: 0 }
  const clock = steadyClock({ wall: () => machine.wall, stopwatch: () => machine.stopwatch })
  const limiter = rateLimiter({ quota, store: memoryStore({ clock }) })
  const set = (ms: number) => {
    machine.wall = startMs + ms
    return limiter
  }
  const pass = (ms: number) => {
    machine.wall += ms
    machine.stopwatch += ms
    return limiter
  }
  return { limiter, set, pass }
}

/** How many of the calls pass that are made every `pause`, from `from` through `through`. */
export function polled(pause: number, through: number, call: (at: number) => boolean, from = 0): number {
  let admitted = 0
  for (let i = 0; from + i * pause <= through; i++) if (call(from + i * pause)) admitted++
  return admitted
}

/** How many of so many calls at one moment pass. */
export function crowd(callers: number, call: () => boolean): number {
  return Array.from({ length: callers }, call).filter(Boolean).length
}
