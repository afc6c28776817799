import { StoreError, withLate } from '../common/errors.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import { MOST_SCALE } from '../kernels/fraction.ts'
import { expiredError, isExpired } from '../remote/deadline.ts'
import { type Call, type Lease, partsOf } from './lease.ts'

// The requests that wait for one call to the store, by leases and by shared quotas.

/** A request that waits for a lease. */
export interface Waiter extends Call {
  readonly resolve: (taken: BucketTaken | Promise<BucketTaken>) => void
  readonly reject: (error: unknown) => void
}

/** The parts of ticks that requests take together. Above what any bucket has, their sum is denied: it is counted no further. */
export const partsOfAll = (waiters: readonly Waiter[]): number =>
  Math.min(
    waiters.reduce((sum, { take }) => sum + partsOf(take.step), 0),
    MOST_SCALE + 1,
  )

/** Answers a waiting request that needs no call: by what it was given, or because it has stopped waiting. */
export function isServed(waiter: Waiter, taken: BucketTaken | undefined): boolean {
  if (taken) waiter.resolve(taken)
  else if (isExpired(waiter.deadline)) waiter.reject(expiredError())
  else return false
  return true
}

/** The answers to requests by a call for all of them, undefined for those that it does not suffice for, and what it leaves. */
export interface Divided {
  readonly answers: readonly (BucketTaken | undefined)[]
  readonly rest: Lease
}

/**
 * Rejects requests whose call has failed: those that it was for, and others that came meanwhile. If the store answers late,
 * each of the first has its own part of the answer, so that units are refunded once, and `returnRest` gets the rest.
 */
export function rejectAll(
  error: unknown,
  waiters: readonly Waiter[],
  others: readonly Waiter[],
  divideLate: (late: unknown) => Divided,
  returnRest: (rest: Lease) => Promise<unknown>,
): void {
  const late = error instanceof StoreError ? error.late : undefined
  const divided = late?.then((answer) => (answer === undefined ? undefined : divideLate(answer)))
  const partOf = async (i: number): Promise<readonly BucketTaken[] | undefined> => {
    const part = (await divided)?.answers[i]
    return part && [part]
  }
  for (const [i, { reject }] of waiters.entries()) reject(withLate(error, () => partOf(i)))
  for (const { reject } of others) reject(withLate(error, () => undefined))
  // A store may answer anything: an invalid answer must not end the process.
  divided?.then((known) => known && returnRest(known.rest)).catch(() => {})
}
