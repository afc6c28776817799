import type { BucketStep, BucketTaken, SentStep, Step } from '@spillway/core'
import { grossOf, receivedStep } from '@spillway/core/internal'
import { type Answer, stepsReader } from '../batches.ts'

/** How many numbers a step has in the arguments of the SQL functions. */
const NUMBERS = 24

/** Reads the steps that the store sends: the numbers of each. */
export const stepsIn: (text: string) => readonly Step[] = stepsReader((text) => {
  const numbers = text.split(' ').map(Number)
  return Array.from({ length: numbers.length / NUMBERS }, (_, i) =>
    receivedStep(stepOf(numbers.slice(NUMBERS * i, NUMBERS * (i + 1)))),
  )
})

/** The order is that of the store's `numbersOf`: the first four numbers are those of all kernels. */
function stepOf([kernel, isPeek, increment = 0, check = 0, ...rest]: readonly number[]): SentStep {
  const common = { increment, check, peek: isPeek === 1 }
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, ...others] = rest
  switch (kernel) {
    case 1:
      return { kernel: 'bucket', ...common, ...bucketOf(rest) }
    case 2: {
      const [third, fourth, clock, offset] = others
      const starts = g === 0 ? null : [g, h, third, fourth]
      const window = { limit: a, ticks: b, tick: c, most: d, since: e, fixed: f === 1 }
      return {
        kernel: 'sliding-window',
        ...common,
        ...window,
        calendar: starts,
        offset: clock === 0 ? null : offset,
      } as SentStep
    }
    case 3:
      return { kernel: 'sliding-log', ...common, limit: a, window: b, since: c }
    case 4: {
      const turns = { tolerance: a, half: b, early: c, scale: d, until: e, untilEarly: f, cold: g }
      return { kernel: 'warm-up', ...common, ...turns }
    }
    case 6:
      return { kernel: 'slots', ...common, limit: a, ttl: b, id: c }
    default: {
      const blocks = { limit: a, window: b, block: c, grow: d, max: e, forgive: f, since: g, extend: h === 1 }
      return { kernel: 'penalty', ...common, ...blocks }
    }
  }
}

function bucketOf(rest: readonly number[]): Omit<BucketStep, 'kernel' | 'increment' | 'check' | 'peek'> {
  const [tolerance = 0, ceiling = 0, maxWaitMicros = 0, until = 0, burst = 0, ends = 0, whole, ...levels] = rest
  const [interval = 0, amount = 0, tick = 0, offset = 0, lacking = 0, keep = 0, ...parts] = levels
  const [scale = 1, ofIncrement = 0, ofCheck = 0, ofTolerance = 0, ofBurst = 0, ofUntil = 0, early = 0] = parts
  const fraction = { increment: ofIncrement, check: ofCheck, tolerance: ofTolerance, burst: ofBurst, until: ofUntil }
  return {
    ...{ tolerance, ceiling, maxWaitMicros, until, burst, ends, whole: whole === 1 },
    schedule: interval === 0 ? null : { interval, amount, tick, offset },
    start: lacking === 0 ? null : { lacking, keep, early },
    fraction: scale === 1 ? null : { scale, ...fraction },
  }
}

/** The numbers that the SQL functions answer for one op. */
export function reportOf({ taken }: Answer): readonly number[] {
  const allowed = taken.allowed ? 1 : 0
  if ('id' in taken) return [allowed, taken.used, taken.id]
  if ('used' in taken) return [allowed, taken.used, taken.fitsAt, taken.freesAt, taken.emptyAt]
  if ('start' in taken) return [allowed, taken.start, taken.current, taken.previous]
  if ('level' in taken) return [allowed, taken.first, taken.count, taken.until, taken.level, taken.last]
  if ('cold' in taken) {
    const { aheadBefore, earlyBefore, coldBefore, ahead, early, cold } = taken
    return [allowed, aheadBefore, earlyBefore, coldBefore, ahead, early, cold]
  }
  const { base, tat, early } = taken as BucketTaken
  const gross = grossOf(taken as BucketTaken)
  return [allowed, base, tat, gross.tick, ...(early ? [early.base, early.tat, gross.early] : [])]
}
