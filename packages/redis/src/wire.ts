import type { Deadline, Fraction, Micros, Step, Take, Taken } from '@spillway/core'
import { type Script, scriptFor } from './script.ts'

/** A take on its way: its ops, and the names of their keys. */
export interface Call {
  readonly ops: readonly Take[]
  readonly names: readonly string[]
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

/** The script for some calls, and what it is given. */
export interface Request {
  readonly script: Script
  readonly keys: string[]
  readonly arguments: string[]
}

/** Writes calls as the script reads them: each key and each step once, however many calls share it. */
export function encode(calls: readonly Call[]): Request {
  const keys = new Map<string, number>()
  const steps = new Map<Step, number>()
  const batches: number[] = []
  for (const { ops, names } of calls) {
    batches.push(ops.length)
    for (let i = 0; i < ops.length; i++) {
      batches.push(placeIn(keys, names[i] as string), placeIn(steps, (ops[i] as Take).step))
    }
  }
  const at = calls[0]?.at
  return {
    script: scriptFor(steps.keys()),
    keys: [...keys.keys()],
    arguments: [at === undefined ? '' : `${at}`, `[${[...steps.keys()].map(textOf)}]`, `[${batches}]`],
  }
}

/** The place of something in a list without doubles, counted from 1 as Lua does. */
function placeIn<T>(places: Map<T, number>, it: T): number {
  let place = places.get(it)
  if (place === undefined) {
    place = places.size + 1
    places.set(it, place)
  }
  return place
}

// A policy's plain step is one object for as long as the policy lives.
const texts = new WeakMap<Step, string>()

/** What is not there is nil to Lua, which is as good as null or false. */
const briefly = (_: string, value: unknown): unknown => (value === null || value === false ? undefined : value)

/** A bucket's step without what only refunds need. */
function neededOf(step: Step): Partial<Step> {
  if (step.kernel !== 'bucket' || step.increment < 0) return step
  const { until, ends, whole, burst, fraction, ...needed } = step
  if (fraction === null) return needed
  const { until: _, burst: __, ...parts } = fraction
  return { ...needed, fraction: parts as Fraction }
}

function textOf(step: Step): string {
  let text = texts.get(step)
  if (text === undefined) {
    text = JSON.stringify(neededOf(step), briefly)
    texts.set(step, text)
  }
  return text
}

/** Reads the script's answer: what each call saw, in their order. */
export function decode(calls: readonly Call[], reply: readonly unknown[]): readonly (readonly Taken[])[] {
  let place = 0
  // Clients can be told to give numbers as text.
  const next = (): number => Number(reply[place++])
  const now = next()
  return calls.map(({ ops }) => ops.map(({ step }) => takenOf(step, now, next)))
}

function takenOf(step: Step, now: Micros, next: () => number): Taken {
  const answer = next()
  const allowed = answer > 0
  switch (step.kernel) {
    case 'bucket': {
      const base = now + next()
      const tat = base + next()
      const taken = { allowed, now, base, tat, gross: answer === 2 ? tat + next() : tat }
      if (step.fraction === null) return taken
      return { ...taken, early: { scale: step.fraction.scale, base: next(), tat: next(), gross: next() } }
    }
    case 'sliding-window':
      return { allowed, now, start: now + next(), current: next(), previous: next() }
    case 'sliding-log':
      return { allowed, now, used: next(), fitsAt: now + next(), freesAt: now + next(), emptyAt: now + next() }
  }
}
