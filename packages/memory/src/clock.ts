import type { Micros } from '@spillway/core'

/** A wall clock and a stopwatch, both in milliseconds. The stopwatch never steps, but says nothing of the date. */
export interface Instruments {
  readonly wall: () => number
  readonly stopwatch: () => number
}

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

const MACHINE: Instruments = { wall: () => Date.now(), stopwatch: () => performance.now() }

/** How far the wall clock may run before it is compared with the stopwatch again, and how far the two may differ. */
const SLACK_MS = 1000

/**
 * The wall clock, made steady: it follows the date, but when somebody sets the clock back it goes on from where it
 * was, and makes up for that when the clock is set forward again. A machine that has slept finds its time passed.
 * A call reads the wall clock once; the stopwatch only when a second has gone by, or when the clock has stepped.
 */
export function steadyClock({ wall, stopwatch }: Instruments = MACHINE): () => Micros {
  let lead = 0
  let told = wall()
  let anchor = { at: told, elapsed: stopwatch() }
  // The last reading of the wall clock, and what was told of it. An array holds numbers as they are: a variable that a
  // closure changes would hold each on the heap.
  const last = new Float64Array([told, inMicros(told)])
  const move = (now: number): Micros => {
    const run = now + lead - anchor.at
    const back = now < (last[0] as number)
    if (back || run >= SLACK_MS) {
      const elapsed = stopwatch()
      const stepped = run - (elapsed - anchor.elapsed)
      // Less than the slack is rounding, or a clock being adjusted finely: that is followed. But once ahead of the
      // wall clock it is the stopwatch that is followed, or small steps back and forward would add up.
      if (back || lead > 0 || stepped < -SLACK_MS) lead = Math.max(lead - stepped, 0)
      anchor = { at: now + lead, elapsed }
    }
    told = Math.max(told, now + lead)
    last[0] = now
    last[1] = inMicros(told)
    return last[1]
  }
  return () => {
    const now = wall()
    // Most calls come within the millisecond of the one before.
    return now === last[0] ? (last[1] as Micros) : move(now)
  }
}

const inMicros = (millis: number): Micros => Math.round(millis * 1000)
