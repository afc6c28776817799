import { START } from '@spillway/conformance'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SlidingWindowState, type SlidingWindowStep, slidingWindow } from '../src/index.ts'
import { stepFor } from '../src/internal.ts'
import { slidingWindow as kernel } from '../src/kernels/sliding-window.ts'

const second = 1_000_000
const window = 10 * second
const ten = slidingWindow({ limit: 10, window: '10s' })

const calls = fc.array(
  fc.record({ after: fc.integer({ min: 0, max: 12 * second }), cost: fc.integer({ min: 1, max: 11 }) }),
  { maxLength: 40 },
)

test('a sliding window admits what fits beside whole faded units, in exact fractions', () => {
  fc.assert(
    fc.property(calls, (history) => {
      const passed: { at: number; cost: number }[] = []
      const passedIn = (from: number, to: number): number =>
        passed.reduce((sum, { at, cost }) => sum + (at >= from && at < to ? cost : 0), 0)
      let state: SlidingWindowState | undefined
      let started: number | undefined
      let now = START
      for (const { after, cost } of history) {
        now += after
        const windows = Math.floor((now - (started ?? now)) / window)
        const start = windows >= 2 ? now : (started ?? now) + windows * window
        const faded = (BigInt(passedIn(start - window, start)) * BigInt(start + window - now)) / BigInt(window)
        const fits = Number(faded) + passedIn(start, Infinity) + cost <= 10
        const outcome = kernel(state, now, stepFor(ten, 'consume', cost) as SlidingWindowStep)
        expect(outcome.allowed).toBe(fits)
        state = fits ? outcome.taken : outcome.kept
        if (!fits) continue
        passed.push({ at: now, cost })
        started = start
      }
    }),
    { numRuns: 500 },
  )
})
