import type { BucketStep, Deadline, Micros, Step, Take, Taken } from '@spillway/core'
import type { Fraction } from '@spillway/core/internal'
import { type Exact, exactly } from '@spillway/core/internal'
import { minus, multiple } from './fraction.ts'
import { rowName } from './key.ts'

/** One call of `take`: its ops, and the names of their rows. */
export interface Call {
  readonly ops: readonly Take[]
  readonly names: readonly string[]
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

export const callOf = (ops: readonly Take[], at: Micros | undefined, deadline?: Deadline): Call => ({
  ops,
  names: ops.map(rowName),
  at,
  deadline,
})

/** A fast path: a SQL function for calls of one step on one key, and its arguments but the last three. */
export interface FastPath {
  readonly name: 'take_same' | 'take_fraction'
  readonly values: readonly unknown[]
}

/** The fast path of these calls; undefined if they need `take_all`. */
export function encodeSame(calls: readonly Call[]): FastPath | undefined {
  const [first] = calls as [Call]
  const { step } = first.ops[0] as Take
  if (step.kernel !== 'bucket' || step.schedule !== null || step.start !== null || step.peek) return undefined
  const { increment, check, tolerance, ceiling, maxWaitMicros, fraction } = step
  if (increment <= 0 || calls.length * increment > FAR || check > FAR) return undefined
  if (!calls.every(({ ops, names }) => ops.length === 1 && names[0] === first.names[0] && isSame(ops[0]?.step, step))) {
    return undefined
  }
  const head = [first.names[0], calls.length]
  if (fraction === null) {
    return { name: 'take_same', values: [...head, increment, check, tolerance, ceiling, maxWaitMicros] }
  }
  return fractionalPath(head, calls.length, step, fraction)
}

function fractionalPath(
  head: readonly unknown[],
  times: number,
  step: BucketStep,
  { scale, ...parts }: Fraction,
): FastPath | undefined {
  const { tolerance, ceiling, maxWaitMicros } = step
  const each = { tick: step.increment, early: parts.increment }
  const others = multiple(times - 1, each, scale)
  const total = multiple(times, each, scale)
  const first = exactly(step.check - tolerance, parts.check - parts.tolerance, scale)
  const last = exactly(first.tick + others.tick, first.early + others.early, scale)
  const sums = [total, first, last].flatMap(({ tick, early }) => [tick, early])
  // Beyond 2^53 the sums are not exact.
  if (![times * each.early, tolerance, ...sums].every(Number.isSafeInteger)) return undefined
  return { name: 'take_fraction', values: [...head, scale, ...sums, ceiling, maxWaitMicros, stepsOf([step])] }
}

// A policy has one object for its usual step, so that the first comparison usually suffices.
const isSame = (step: unknown, other: unknown): boolean =>
  step === other ||
  (isObject(step) && isObject(other) && Object.keys(other).every((name) => isSame(step[name], other[name])))

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The first three arguments of the SQL function `take_all`: names, steps and calls. */
export function encode(calls: readonly Call[]): [names: string, steps: string, calls: string] {
  // All processes lock rows in byte order of their names, which prevents deadlocks.
  const names = [...new Set(calls.flatMap((call) => call.names))].sort()
  const places = new Map(names.map((name, i) => [name, i + 1]))
  const steps = new Map<Step, number>()
  const numbers: number[] = []
  for (const { ops, names } of calls) {
    numbers.push(ops.length)
    for (const [i, { step }] of ops.entries()) {
      if (!steps.has(step)) steps.set(step, steps.size + 1)
      numbers.push(places.get(names[i] as string) as number, steps.get(step) as number)
    }
  }
  return [names.join('\n'), stepsOf([...steps.keys()]), numbers.join(' ')]
}

/** How many numbers a step has. The text of the steps starts with it. */
const WIDTH = 24

const stepsOf = (steps: readonly Step[]): string => [WIDTH, ...steps.map(numbersOf)].join(' ')

/** A step as the numbers that the SQL kernels read. */
function numbersOf(step: Step): string {
  const { kernel, increment, check } = step
  const common = [KERNELS.indexOf(kernel) + 1, step.peek ? 1 : 0, increment]
  switch (kernel) {
    case 'bucket': {
      const { tolerance, ceiling, maxWaitMicros, until, burst, ends, whole, schedule, start, fraction } = step
      const { interval, amount, tick, offset } = schedule ?? { interval: 0, amount: 0, tick: 0, offset: 0 }
      return formatNumbers([
        ...common,
        check,
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
      ])
    }
    case 'sliding-window': {
      // A check above the limit never fits. It is capped, because its product with the ticks could overflow.
      const { limit, ticks, tick, most, since, fixed } = step
      const kind = fixed ? 1 : 0
      return formatNumbers([...common, Math.min(check, limit + 1), limit, ticks, tick, most, since, kind, ...rest(7)])
    }
    case 'sliding-log':
      return formatNumbers([...common, check, step.limit, step.window, step.since, ...rest(10)])
    case 'warm-up': {
      const { tolerance, half, early, scale, until, untilEarly, cold } = step
      return formatNumbers([...common, check, tolerance, half, early, scale, until, untilEarly, cold, ...rest(6)])
    }
  }
}

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

const KERNELS: readonly Step['kernel'][] = ['bucket', 'sliding-window', 'sliding-log', 'warm-up']

/** Above any quota and within `bigint`: a cost that never fits still never fits. */
const FAR = 1e18

const formatNumbers = (numbers: readonly number[]): string =>
  numbers.map((number) => Math.max(Math.min(number, FAR), -FAR)).join(' ')

/** Decodes the result of the SQL function `take_all`: the results of each call, in order. */
export function decode(calls: readonly Call[], answer: string): readonly (readonly Taken[])[] {
  const numbers = answer.split(' ')
  let place = 0
  const next = (): number => Number(numbers[place++])
  const now = next()
  return calls.map(({ ops }) => ops.map(({ step }) => takenOf(step, now, next)))
}

/** Decodes the result of a fast path. */
export function decodeSame(calls: readonly Call[], answer: string): readonly (readonly Taken[])[] {
  const [{ ops }] = calls as [Call]
  const { increment, fraction } = (ops[0] as Take).step as BucketStep
  const numbers = answer.split(' ').map(Number)
  if (numbers.length > (fraction === null ? 3 : 4)) return decode(calls, answer)
  const [now, all, tick, early = 0] = numbers as [number, number, number, number?]
  const allowed = all === 1
  if (fraction === null) {
    return calls.map((_, i) => {
      const base = tick + i * all * increment
      const tat = base + all * increment
      return [{ allowed, now, base, tat, gross: tat }]
    })
  }
  const { scale } = fraction
  const each = { tick: increment, early: fraction.increment }
  // The state before the last `count` calls.
  const before = (count: number): Exact => minus({ tick, early }, multiple(allowed ? count : 0, each, scale), scale)
  return calls.map((_, i) => {
    const base = before(calls.length - i)
    const tat = before(calls.length - i - 1)
    const early = { scale, base: base.early, tat: tat.early, gross: tat.early }
    return [{ allowed, now, base: base.tick, tat: tat.tick, gross: tat.tick, early }]
  })
}

function takenOf(step: Step, now: Micros, next: () => number): Taken {
  const allowed = next() === 1
  switch (step.kernel) {
    case 'bucket': {
      const taken = { allowed, now, base: next(), tat: next(), gross: next() }
      if (step.fraction === null) return taken
      return { ...taken, early: { scale: step.fraction.scale, base: next(), tat: next(), gross: next() } }
    }
    case 'sliding-window':
      return { allowed, now, start: next(), current: next(), previous: next() }
    case 'sliding-log':
      return { allowed, now, used: next(), fitsAt: next(), freesAt: next(), emptyAt: next() }
    case 'warm-up': {
      const [aheadBefore, earlyBefore, coldBefore] = [next(), next(), next()]
      return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead: next(), early: next(), cold: next() }
    }
  }
}
