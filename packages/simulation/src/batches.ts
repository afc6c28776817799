import type { BucketTaken, Micros, State, Step, Taken } from '@spillway/core'
import { emptyAt, runKernel, takenOf } from '@spillway/core/internal'

/** The states that a command reads and writes. */
export interface Keyspace {
  now(): Micros
  read(name: string): State | undefined
  /** Writes a state that is as good as none from `emptyAt` on. `now` is the time of the command. */
  write(name: string, state: State, emptyAt: Micros, now: Micros): void
  delete(name: string): void
}

/** The ticks that an executed command has consumed from a key; negative if it has refunded them. */
export interface Effect {
  readonly name: string
  readonly ticks: number
  readonly step: Step
}

export interface Op {
  readonly name: string
  readonly step: Step
}

export interface Answer {
  readonly name: string
  readonly step: Step
  readonly taken: Taken
}

/** Reads steps from the text of an argument, once for each of the texts that repeat. */
export function stepsReader(read: (text: string) => readonly Step[]): (text: string) => readonly Step[] {
  const known = new Map<string, readonly Step[]>()
  return (text) => {
    let steps = known.get(text)
    if (steps === undefined) {
      steps = read(text)
      if (known.size > 10_000) known.clear()
      known.set(text, steps)
    }
    return steps
  }
}

/**
 * The batches of a call, as the stores send them: of each batch, how many ops it has, and the places of their names and steps,
 * from 1 on.
 */
export function batchesOf(
  names: readonly string[],
  steps: readonly Step[],
  numbers: readonly number[],
): readonly (readonly Op[])[] {
  const batches: Op[][] = []
  for (let place = 0; place < numbers.length; ) {
    const ops: Op[] = []
    for (let left = numbers[place++] as number; left > 0; left--) {
      const [name, step] = [numbers[place++] as number, numbers[place++] as number]
      ops.push({ name: names[name - 1] as string, step: steps[step - 1] as Step })
    }
    batches.push(ops)
  }
  return batches
}

/** Runs batches in order by the TypeScript kernels, each all-or-nothing. */
export function runBatches(space: Keyspace, now: Micros, batches: readonly (readonly Op[])[]): readonly Answer[] {
  const states = new Map(batches.flat().map(({ name }) => [name, space.read(name)]))
  const answers: Answer[] = []
  for (const ops of batches) {
    const outcomes = ops.map(({ name, step }) => runKernel(states.get(name), now, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    for (const [i, { name, step }] of ops.entries()) {
      const outcome = outcomes[i] as (typeof outcomes)[number]
      const state = takes ? outcome.taken : outcome.kept
      if (!step.peek && state !== undefined && state !== states.get(name)) {
        states.set(name, state)
        // A real server writes each state once, after all batches. Here, the ledger also gets those between two batches.
        space.write(name, state, emptyAt(state, step), now)
      }
      answers.push({ name, step, taken: takenOf(outcome, now, step, takes && !step.peek) })
    }
  }
  return answers
}

/** What batches would consume or refund if they were executed: nothing by a peek. */
export const intentsOf = (batches: readonly (readonly Op[])[]): readonly Effect[] =>
  batches.flat().map(({ name, step }) => ({ name, step, ticks: step.peek ? 0 : step.increment }))

export function effectOf({ name, step, taken }: Answer): Effect[] {
  const { base = 0, tat = 0 } = taken as Partial<BucketTaken>
  // Of a window or a log, only the most that a refund returns is known.
  if (step.kernel !== 'bucket') return step.increment < 0 && !step.peek ? [{ name, step, ticks: step.increment }] : []
  return tat === base ? [] : [{ name, step, ticks: tat - base }]
}
