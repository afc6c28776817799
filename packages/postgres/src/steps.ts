import type { Fraction, SentStep } from '@spillway/core/internal'
import {
  BUCKET_STEP,
  KERNELS,
  PENALTY_STEP,
  placeOf,
  SLIDING_LOG_STEP,
  SLIDING_WINDOW_STEP,
  STEP_SIZE,
  WARM_UP_STEP,
} from './sql/layout.ts'

/** The steps as text: the numbers of each. */
export const stepsOf = (steps: readonly SentStep[]): string => steps.map(textOf).join(' ')

// A policy has one object for its usual step, so that its text is cached.
const texts = new WeakMap<SentStep, string>()

function textOf(step: SentStep): string {
  const text = texts.get(step) ?? numbersOf(step)
  texts.set(step, text)
  return text
}

/** The fraction of a step whose numbers are all whole. */
const WHOLE: Fraction = { scale: 1, increment: 0, check: 0, tolerance: 0, burst: 0, until: 0 }

/** A step as the numbers that the SQL kernels read. */
function numbersOf(step: SentStep): string {
  const every = { ...step, kernel: KERNELS[step.kernel], peek: Number(step.peek) }
  switch (step.kernel) {
    case 'bucket': {
      const { scale, increment, check, tolerance, burst, until } = step.fraction ?? WHOLE
      return inOrder(BUCKET_STEP, {
        ...step,
        ...every,
        wait: step.maxWaitMicros,
        whole: Number(step.whole),
        ...(step.schedule ?? { interval: 0, amount: 0, tick: 0, offset: 0 }),
        lacking: step.start?.lacking ?? 0,
        keep: step.start?.keep ?? 0,
        scale,
        incrementEarly: increment,
        checkEarly: check,
        toleranceEarly: tolerance,
        burstEarly: burst,
        untilEarly: until,
        lackingEarly: step.start?.early ?? 0,
      })
    }
    case 'sliding-window': {
      const { limit, check, calendar, ticks, tick, offset } = step
      // The last start is repeated if a calendar has fewer than four.
      const start = (i: number): number => calendar?.[i] ?? calendar?.at(-1) ?? 0
      return inOrder(SLIDING_WINDOW_STEP, {
        ...step,
        ...every,
        // A check above the limit never fits. It is capped, because its product with the ticks could overflow.
        check: Math.min(check, limit + 1),
        fixed: Number(step.fixed),
        start1: start(0),
        start2: start(1),
        start3: start(2),
        start4: start(3),
        clock: offset === null ? 0 : ticks * tick,
        offset: offset ?? 0,
      })
    }
    case 'sliding-log':
      return inOrder(SLIDING_LOG_STEP, { ...step, ...every })
    case 'warm-up':
      return inOrder(WARM_UP_STEP, { ...step, ...every })
    case 'penalty':
      return inOrder(PENALTY_STEP, { ...step, ...every, extend: Number(step.extend) })
  }
}

/** Above any quota and within `bigint`: a cost that never fits still never fits. */
const FAR = 1e18

/** The numbers of a step in the order of its layout; what only a bucket has is as in one without fractions. */
function inOrder<N extends string>(layout: readonly N[], values: Readonly<Record<N, number>>): string {
  const numbers = new Array<number>(STEP_SIZE).fill(0)
  numbers[placeOf(BUCKET_STEP, 'scale') - 1] = 1
  for (const [i, name] of layout.entries()) numbers[i] = Math.max(Math.min(values[name], FAR), -FAR)
  return numbers.join(' ')
}
