import type { Deadline, Micros, SentStep, Step, Take, Taken } from '@spillway/core'
import { bucketTaken, sentStep } from '@spillway/core/internal'
import type { Call } from '@spillway/stores/internal'
import { rowName } from './key.ts'
import { stepsOf } from './steps.ts'

export const callOf = (ops: readonly Take[], at: Micros | undefined, deadline?: Deadline): Call => ({
  ops,
  names: ops.map(rowName),
  at,
  deadline,
})

/** The first three arguments of the SQL function `take_calls`: names, steps and calls. */
export function encode(calls: readonly Call[]): [names: string, steps: string, calls: string] {
  // All processes lock rows in byte order of their names, which prevents deadlocks.
  const names = [...new Set(calls.flatMap((call) => call.names))].sort()
  const places = new Map(names.map((name, i) => [name, i + 1]))
  const steps = new Map<SentStep, number>()
  const numbers: number[] = []
  for (const { ops, names, at } of calls) {
    numbers.push(ops.length)
    for (const [i, op] of ops.entries()) {
      const step = sentStep(op.step, at)
      if (!steps.has(step)) steps.set(step, steps.size + 1)
      numbers.push(places.get(names[i] as string) as number, steps.get(step) as number)
    }
  }
  return [names.join('\n'), stepsOf([...steps.keys()]), numbers.join(' ')]
}

/** Decodes the result of the SQL function `take_calls`: the results of each call, in order. */
export function decode(calls: readonly Call[], answer: string): readonly (readonly Taken[])[] {
  const numbers = answer.split(' ')
  let place = 0
  const next = (): number => Number(numbers[place++])
  const now = next()
  return calls.map(({ ops }) => ops.map(({ step }) => takenOf(step, now, next)))
}

function takenOf(step: Step, now: Micros, next: () => number): Taken {
  const allowed = next() === 1
  switch (step.kernel) {
    case 'bucket': {
      const [base, tat, gross] = [next(), next(), next()]
      const earlies = step.fraction === null ? [0, 0, 0] : [next(), next(), next()]
      const [ofBase, ofTat, ofGross] = earlies as [number, number, number]
      const exact = (tick: number, early: number) => ({ tick, early })
      return bucketTaken(step.fraction, allowed, now, exact(base, ofBase), exact(tat, ofTat), exact(gross, ofGross))
    }
    case 'sliding-window':
      return { allowed, now, start: next(), current: next(), previous: next() }
    case 'sliding-log':
      return { allowed, now, used: next(), fitsAt: next(), freesAt: next(), emptyAt: next() }
    case 'warm-up': {
      const [aheadBefore, earlyBefore, coldBefore] = [next(), next(), next()]
      return { allowed, now, aheadBefore, earlyBefore, coldBefore, ahead: next(), early: next(), cold: next() }
    }
    case 'penalty':
      return { allowed, now, first: next(), count: next(), until: next(), level: next(), last: next() }
    case 'slots':
      return { allowed, now, used: next(), id: next() }
  }
}
