import type { BucketStep, Take, Taken } from '@spillway/core'
import { bucketTaken, type Exact, WHOLE } from '@spillway/core/internal'
import type { Call } from '@spillway/stores/internal'
import { boundsOf } from './bucket-bounds.ts'
import { minus, multiple } from './fraction.ts'
import { stepsOf } from './steps.ts'
import { decode } from './wire.ts'

/** The arguments of the SQL function `take_bucket` but the last three; undefined if the calls need `take_calls`. */
export function bucketArguments(calls: readonly Call[]): readonly unknown[] | undefined {
  const [{ ops, names }] = calls as [Call]
  const { step } = ops[0] as Take
  if (step.kernel !== 'bucket' || step.schedule !== null || step.start !== null || step.peek || step.increment <= 0) {
    return undefined
  }
  const isAlike = ({ ops: others, names: [name] }: Call): boolean =>
    others.length === 1 && name === names[0] && isSame(others[0]?.step, step)
  return calls.every(isAlike) ? argumentsOf(names[0] as string, calls.length, step) : undefined
}

function argumentsOf(name: string, count: number, step: BucketStep): readonly unknown[] | undefined {
  const { scale, total, mostAhead, first, last } = boundsOf(count, step)
  const bounds = [count, step.ceiling, first.tick, first.early, last.tick, last.early]
  // Beyond 2^53 the sums are not exact.
  if (![count * (step.fraction ?? WHOLE).increment, total.tick, ...bounds].every(Number.isSafeInteger)) return undefined
  return [name, total.tick, total.early, scale, mostAhead, ...bounds, stepsOf([step])]
}

// A policy has one object for its usual step, so that the first comparison usually suffices.
const isSame = (step: unknown, other: unknown): boolean =>
  step === other ||
  (isObject(step) && isObject(other) && Object.keys(other).every((name) => isSame(step[name], other[name])))

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** Decodes the result of the SQL function `take_bucket`: the results of each call, in order. */
export function decodeBucket(calls: readonly Call[], answer: string): readonly (readonly Taken[])[] {
  const numbers = answer.split(' ').map(Number)
  if (numbers.length > 4) return decode(calls, answer)
  const [{ ops }] = calls as [Call]
  const { increment, fraction } = (ops[0] as Take).step as BucketStep
  const [now, all, tick, early] = numbers as [number, number, number, number]
  const allowed = all === 1
  const { scale, increment: part } = fraction ?? WHOLE
  const each = { tick: increment, early: part }
  // The state before the last `count` calls.
  const before = (count: number): Exact => minus({ tick, early }, multiple(allowed ? count : 0, each, scale), scale)
  // No bucket is full before now: the update has left an earlier state.
  if (before(calls.length).tick < now) throw new Error('a trigger of the table has changed or suppressed an update')
  return calls.map((_, i) => {
    const base = before(calls.length - i)
    const tat = before(calls.length - i - 1)
    return [bucketTaken(fraction, allowed, now, base, tat)]
  })
}
