import type { BucketStep, Micros, SentStep, Step } from '@spillway/core'
import type { Fraction } from '@spillway/core/internal'

/** The steps as text: the numbers of each. */
export const stepsOf = (steps: readonly SentStep[]): string => steps.map(textOf).join(' ')

// A policy has one object for its usual step, so that its text is cached.
const texts = new WeakMap<SentStep, string>()

function textOf(step: SentStep): string {
  const text = texts.get(step) ?? numbersOf(step).join(' ')
  texts.set(step, text)
  return text
}

/** A step as the numbers that the SQL kernels read: `sql/layout.ts` names them. */
function numbersOf(step: SentStep): readonly number[] {
  const { kernel, increment, check } = step
  const common = [KERNELS.indexOf(kernel) + 1, step.peek ? 1 : 0, increment]
  switch (kernel) {
    case 'bucket':
      return [...common, check, ...bucketNumbers(step)]
    case 'sliding-window': {
      const { limit, ticks, tick, most, since, fixed, calendar, offset } = step
      const clock = offset === null ? [0, 0] : [ticks * tick, offset]
      const numbers = [limit, ticks, tick, most, since, fixed ? 1 : 0, ...startsIn(calendar), ...clock]
      return [...common, check, ...numbers, ...rest(1)]
    }
    case 'sliding-log':
      return [...common, check, step.limit, step.window, step.since, ...rest(10)]
    case 'warm-up': {
      const { tolerance, half, early, scale, until, untilEarly, cold } = step
      return [...common, check, tolerance, half, early, scale, until, untilEarly, cold, ...rest(6)]
    }
    case 'penalty': {
      const { limit, window, block, grow, max, forgive, since, extend } = step
      const numbers = [limit, window, block, grow, max, forgive, since, extend ? 1 : 0]
      return [...common, check, ...numbers, ...rest(5)]
    }
    case 'slots':
      return [...common, check, step.limit, step.ttl, step.id, ...rest(10)]
  }
}

function bucketNumbers(step: BucketStep): readonly number[] {
  const { tolerance, ceiling, maxWaitMicros, until, burst, ends, whole, schedule, start, fraction } = step
  const { interval, amount, tick, offset } = schedule ?? { interval: 0, amount: 0, tick: 0, offset: 0 }
  return [
    tolerance,
    ceiling,
    maxWaitMicros,
    until,
    burst,
    ends,
    whole ? 1 : 0,
    interval,
    amount,
    tick,
    offset,
    start?.lacking ?? 0,
    start?.keep ?? 0,
    ...(fraction === null ? WHOLE : partsOf(fraction)),
    start?.early ?? 0,
  ]
}

/** The four starts of a calendar's periods; zeros if there is none. The last is repeated if there are fewer. */
const startsIn = (starts: readonly Micros[] | null): readonly number[] =>
  [0, 1, 2, 3].map((i) => starts?.[i] ?? starts?.at(-1) ?? 0)

/** The numbers that only a bucket has. */
const rest = (zeros: number): readonly number[] => [...new Array<number>(zeros).fill(0), ...WHOLE, 0]

/** The fraction of a step whose numbers are all whole. */
const WHOLE: readonly number[] = [1, 0, 0, 0, 0, 0]

const partsOf = ({ scale, increment, check, tolerance, burst, until }: Fraction): readonly number[] => [
  scale,
  increment,
  check,
  tolerance,
  burst,
  until,
]

const KERNELS: readonly Step['kernel'][] = ['bucket', 'sliding-window', 'sliding-log', 'warm-up', 'penalty', 'slots']
