import type { BucketTaken, Deadline, Micros, Step, Take, Taken } from '@spillway/core'
import { type Fraction, type SentStep, sentStep } from '@spillway/core/internal'
import { type Script, scriptFor } from './script.ts'

/** One call of `take`: its ops, and the names of their keys. */
export interface Call {
  readonly ops: readonly Take[]
  readonly names: readonly string[]
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

/** The script for some calls, and its arguments. */
export interface EvalRequest {
  readonly script: Script
  readonly keys: string[]
  readonly arguments: string[]
}

/** Encodes calls for the script. Each key and each step is sent once, even if many calls share it. */
export function encode(calls: readonly Call[]): EvalRequest {
  const keys = new Map<string, number>()
  const steps = new Map<SentStep, number>()
  const batches: number[] = []
  const at = calls[0]?.at
  for (const { ops, names } of calls) {
    batches.push(ops.length)
    for (let i = 0; i < ops.length; i++) {
      batches.push(indexIn(keys, names[i] as string), indexIn(steps, sentStep((ops[i] as Take).step, at)))
    }
  }
  return {
    script: scriptFor(steps.keys()),
    keys: [...keys.keys()],
    arguments: [at === undefined ? '' : `${at}`, `[${[...steps.keys()].map(textOf)}]`, `[${batches}]`],
  }
}

/** Returns the index of an item in a list without duplicates, and appends the item if needed. Lua counts from 1. */
function indexIn<T>(places: Map<T, number>, it: T): number {
  let place = places.get(it)
  if (place === undefined) {
    place = places.size + 1
    places.set(it, place)
  }
  return place
}

// A policy has one object for its usual step, so that its text is cached.
const texts = new WeakMap<SentStep, string>()

/** Omits null and false: Lua reads a missing field as nil, which is falsy, too. */
const omitDefaults = (_: string, value: unknown): unknown => (value === null || value === false ? undefined : value)

/** A bucket's step without the fields that only refunds need. */
function neededOf(step: SentStep): Partial<SentStep> {
  if (step.kernel !== 'bucket' || step.increment < 0) return step
  const { until, ends, whole, burst, fraction, ...needed } = step
  if (fraction === null) return needed
  const { until: _, burst: __, ...parts } = fraction
  return { ...needed, fraction: parts as Fraction }
}

function textOf(step: SentStep): string {
  let text = texts.get(step)
  if (text === undefined) {
    text = JSON.stringify(neededOf(step), omitDefaults)
    texts.set(step, text)
  }
  return text
}

/** Decodes the script's reply: the results of each call, in order. */
export function decode(calls: readonly Call[], reply: readonly unknown[]): readonly (readonly Taken[])[] {
  let place = 0
  // Some client options return numbers as text.
  const next = (): number => Number(reply[place++])
  const now = next()
  return calls.map(({ ops }) => ops.map(({ step }) => takenOf(step, now, next)))
}

function takenOf(step: Step, now: Micros, next: () => number): Taken {
  const answer = next()
  const allowed = answer > 0
  switch (step.kernel) {
    case 'bucket':
      return bucketOf(answer, now, step.fraction, next)
    case 'sliding-window':
      return { allowed, now, start: now + next(), current: next(), previous: next() }
    case 'sliding-log':
      return { allowed, now, used: next(), fitsAt: now + next(), freesAt: now + next(), emptyAt: now + next() }
    case 'warm-up': {
      const [aheadBefore, earlyBefore, coldBefore] = [next(), next(), next()]
      return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead: next(), early: next(), cold: next() }
    }
    case 'penalty': {
      const [first, count, left, level, since] = [now + next(), next(), next(), next(), next()]
      return { allowed, now, first, count, until: left > 0 ? now + left : 0, level, last: level > 0 ? now - since : 0 }
    }
  }
}

function bucketOf(answer: number, now: Micros, fraction: Fraction | null, next: () => number): BucketTaken {
  const allowed = answer > 0
  const base = now + next()
  const tat = base + next()
  const taken = { allowed, now, base, tat }
  const of = fraction === null ? taken : { ...taken, early: { scale: fraction.scale, base: next(), tat: next() } }
  if (answer !== 2) return of
  return { ...of, gross: { tick: tat + next(), early: fraction === null ? 0 : next() } }
}
