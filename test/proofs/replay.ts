import { runInThisContext } from 'node:vm'
import { START } from '../../packages/conformance/src/clock.ts'
import type { Row, Vector } from '../../packages/conformance/src/vectors/vector.ts'
import { type decider, type stepFor, takenOf } from '../../packages/core/src/algorithms/algorithm.ts'
import type { Quota, Taken } from '../../packages/core/src/index.ts'
import type { Outcome, State, Step } from '../../packages/core/src/kernels/kernel.ts'

/** A row without its answer. */
export type Asked = readonly [atMs: number, verb: Row[1], cost: number, of?: number]

export type Kernel = (state: State | undefined, now: number, step: Step) => Outcome

/** What answers the calls of a vector. */
export interface Program {
  readonly stepFor: typeof stepFor
  readonly decider: typeof decider
  readonly runKernel: Kernel
}

/** Loads the kernels as they are written. */
export const programOf = (source: string): Program =>
  runInThisContext(`{${source.replace(/export (\{[^}]*\});?\s*$/, '($1)')}}`)

/** The answers of a program to the calls of a vector. */
export const replayed = (program: Program, { quota, rows }: Vector): readonly Row[] =>
  answersOf(
    program,
    quota,
    rows.map(([at, verb, cost, , , , , of]) => (of === undefined ? [at, verb, cost] : [at, verb, cost, of])),
  )

export function answersOf(program: Program, quota: Quota, calls: readonly Asked[]): readonly Row[] {
  const takes: Taken[] = []
  let state: State | undefined
  return calls.map(([atMs, verb, cost, of]): Row => {
    const now = START + Math.round(atMs * 1000)
    const step = program.stepFor(quota, verb, cost, of === undefined ? {} : { original: takes[of] as Taken })
    const outcome = program.runKernel(state, now, step)
    if (!step.peek) state = outcome.allowed ? outcome.taken : outcome.kept
    const taken = takenOf(outcome, now, step, outcome.allowed && !step.peek)
    takes.push(taken)
    const { allowed, remaining, retryAfterMs, resetAfterMs } = program.decider('p', quota, cost, step)(taken)
    const row = [atMs, verb, cost, allowed, remaining, retryAfterMs, resetAfterMs] as const
    return of === undefined ? row : [...row, of]
  })
}
