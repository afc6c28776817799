import { isDeepStrictEqual } from 'node:util'
import type { BucketState } from '../../packages/core/src/kernels/bucket-state.ts'
import type { BucketOutcome, BucketStep } from '../../packages/core/src/kernels/bucket-types.ts'
import type { Outcome } from '../../packages/core/src/kernels/kernel.ts'
import { Interpreter } from './interpreter.ts'
import type { KernelName } from './languages.ts'
import { known, plain } from './lua-kernel.ts'
import { Path } from './path.ts'
import type { Kernel, Program } from './replay.ts'
import type { Row } from './sql.ts'
import { SqlKernels } from './sql-outcome.ts'
import { TakeBucket } from './take-bucket.ts'
import { NULL, type Num, number, type Obj, object, type Value } from './values.ts'

/** Kernels of which the SQL function runs what the store sends to it, whether the row has to be kept for longer or not. */
export const sqlKernel =
  (source: string, sql: string, { runKernel }: Program): Kernel =>
  (state, now, step) => {
    const outcome = runKernel(state, now, step)
    if (step.kernel !== 'bucket' || step.peek || step.increment < 0 || !isRow(state)) return outcome
    const outcomes = [0, Number.MAX_SAFE_INTEGER].map((expires) => {
      const row = state === undefined ? undefined : rowOf(state, expires)
      const one = outcomeOf(source, sql, row, number(1), now, step, outcome as BucketOutcome)
      const two = outcomeOf(source, sql, row, number(2), now, step, outcome as BucketOutcome)
      const isBatch = two !== outcome && two.allowed
      // A batch is taken only if each of its calls fits.
      return isBatch && !runKernel(one.taken, now, step).allowed ? { ...two, allowed: false } : one
    })
    return outcomes.find((each) => !isDeepStrictEqual(each, outcome)) ?? outcome
  }

/** The kernels of a text of SQL, run on numbers that are known. */
export const sqlKernels =
  (source: string, sql: string): Kernel =>
  (state, now, step) => {
    const kernels = new SqlKernels(source, sql, new Path([]))
    return plain(kernels.outcome(step.kernel as KernelName, known(state), number(now), known(step) as Obj)) as Outcome
  }

/** Whether a state has no refunds, for which there is another function. */
const isRow = (state: unknown): state is BucketState | undefined =>
  typeof state !== 'object' || (state !== null && 'scale' in state && 'turn' in state && state.turn === 0)

function rowOf(state: BucketState, expires: number): Row {
  const row = { expires: number(expires) }
  if (typeof state === 'number') return { ...row, tat: number(state), counts: NULL }
  const parts = 'scale' in state ? state : { scale: 1, early: 0 }
  return { ...row, tat: number(state.tat), counts: object({ 1: number(parts.scale), 2: number(parts.early) }) }
}

function outcomeOf(
  source: string,
  sql: string,
  row: Row | undefined,
  count: Num,
  now: number,
  step: BucketStep,
  outcome: BucketOutcome,
): BucketOutcome {
  const path = new Path([])
  const bounds = new Interpreter(source, path).call('boundsOf', count, known(step))
  const called = new TakeBucket(bounds, sql, path, count, known(step) as Obj, number(now), row)
  const returned = called.run()
  if (returned === undefined) return outcome
  const [, isTaken, tick, early] = returned.map(plain) as [number, number, number, number]
  if (isTaken === 0) return { ...outcome, allowed: false, base: tick, early: { ...outcome.early, base: early } }
  return {
    ...outcome,
    allowed: true,
    next: tick,
    grossNext: tick,
    early: { ...outcome.early, tat: early, gross: early },
    taken: stateOf(called.row as Row),
  }
}

function stateOf({ tat, counts }: Row): BucketState {
  const { known: tick } = tat as Num
  if (tick === undefined) throw new TypeError('the state is unknown')
  if ((counts as Value).kind !== 'object') return tick
  const { 1: scale, 2: early } = plain(counts as Value) as Record<string, number>
  if (!early || !scale) return tick
  return { tat: tick, gross: Math.abs(tick), turn: 0, scale, early, grossEarly: early }
}
