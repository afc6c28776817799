import { withLate } from '../common/errors.ts'
import type { Micros } from '../common/time.ts'
import { type BucketTaken, exactIn, grossOf } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { laterBy } from '../kernels/fraction.ts'
import { sizesUpTo } from '../limiter/up-to.ts'
import type { Store } from '../stores/store.ts'
import { type Call, partsOf, scaleOf, takenAt } from './lease.ts'
import { shareStep } from './share.ts'
import type { Divided, Waiter } from './waiters.ts'

/** What a store has granted of a share. */
export interface Granted {
  readonly taken: BucketTaken
  readonly parts: number
}

/** Sums up the takes of a share by their sizes. */
export function grantedBy(answers: readonly (readonly BucketTaken[])[], sizes: readonly number[]): Granted {
  const all = answers.map(([taken]) => taken as BucketTaken)
  const parts = all.reduce((sum, { allowed }, i) => sum + (allowed ? (sizes[i] as number) : 0), 0)
  return { taken: all.findLast(({ allowed }) => allowed) ?? (all[0] as BucketTaken), parts }
}

/** Rejects with the error of a call whose late answer is read like one in time. */
export const failedWith =
  <T>(granted: (answer: T) => Granted) =>
  (error: unknown): never => {
    throw withLate(error, (late) => granted(late as T))
  }

/** A store that takes several batches in one step. */
export type BatchingStore = Store & Required<Pick<Store, 'takeEach'>>

/** Takes as many of these parts as the store has; smaller sizes only, if it is likely to have fewer. */
export async function acquireParts(
  store: BatchingStore,
  { take, at, deadline }: Call,
  parts: number,
  hold: Micros,
  isShort: boolean,
): Promise<Granted> {
  const { step } = take
  const opOf = (size: number) => [{ ...take, step: shareStep(step, size, hold) }]
  if (!isShort) {
    const granted = ([taken]: readonly BucketTaken[]) => grantedBy([[taken as BucketTaken]], [parts])
    const one = store.take(opOf(parts), at, deadline) as Promise<readonly BucketTaken[]>
    const whole = await one.then(granted, failedWith(granted))
    if (whole.parts > 0) return whole
  }
  const each = partsOf(step)
  const sizes = sizesUpTo(Math.ceil(parts / each)).map((requests) => requests * each)
  const granted = (answers: readonly (readonly BucketTaken[])[]) => grantedBy(answers, sizes)
  const all = store.takeEach(sizes.map(opOf), at, deadline) as Promise<readonly (readonly BucketTaken[])[]>
  return all.then(granted, failedWith(granted))
}

/** Divides a share among requests, in their order. */
export function divide(
  waiters: readonly Waiter[],
  step: BucketStep,
  askedMs: number,
  { taken, parts }: Granted,
): Divided {
  const share = { step, now: taken.now, askedMs, tat: exactIn(taken, 'tat'), gross: grossOf(taken) }
  let held = parts
  const answers = waiters.map(({ take }) => {
    const size = partsOf(take.step)
    if (size > held) return undefined
    const answer = takenAt(share, laterBy(share.tat, -held, scaleOf(step)), take.step)
    held -= size
    return answer
  })
  return { answers, rest: { ...share, held } }
}
