import type { Micros } from '../common/time.ts'
import { type BucketTaken, exactIn, grossOf } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { laterBy, partsBetween } from '../kernels/fraction.ts'
import { latestDeadline } from '../remote/deadline.ts'
import type { StateKey, Store } from '../stores/store.ts'
import {
  type Call,
  denial,
  isSameQuota,
  type Lease,
  momentOf,
  partsLeft,
  partsOf,
  returnStep,
  scaleOf,
  spend,
  stepOf,
  takenAt,
  tryAt,
} from './lease.ts'
import { type Entry, type LeaseServer, type Leasing, newEntry } from './lease-entry.ts'
import { firstSize, halved, type LeaseBounds, type LeaseSize, learn, leaseParts } from './lease-size.ts'
import { type Divided, isServed, partsOfAll, rejectAll, type Waiter } from './waiters.ts'

/** The lease of a key, and the requests that wait for one. */
interface LeaseEntry extends Entry, LeaseSize {
  readonly waiters: Waiter[]
}

/**
 * Returns the units of a lease that are left and not refilled. `ms` is the local clock. It resolves to the store's answer;
 * `undefined` if nothing is left, or if the store has failed: the bucket then refills the units.
 */
export async function returnLease(
  store: Store,
  { policy, key }: StateKey,
  lease: Lease,
  at: Micros | undefined,
  ms: number,
): Promise<BucketTaken | undefined> {
  const parts = partsLeft(lease, at ?? momentOf(lease, ms))
  if (parts === 0) return undefined
  try {
    const [taken] = await store.take([{ policy, key, step: returnStep(lease, parts) }], at)
    return taken as BucketTaken
  } catch {
    // An invalid answer is a failure, too.
    return undefined
  }
}

/** Divides the answer to a call for all requests, which are answered after `left` parts of an old lease. */
function divide({ askedMs }: LeaseEntry, waiters: readonly Waiter[], taken: BucketTaken, left: number): Divided {
  const { step } = (waiters[0] as Waiter).take
  const scale = scaleOf(step)
  const [tat, gross] = [exactIn(taken, 'tat'), grossOf(taken)]
  const lease = { step, now: taken.now, askedMs, tat, gross }
  // A call that is denied has taken nothing.
  if (!taken.allowed) return { answers: [], rest: { ...lease, held: 0 } }
  let base = laterBy(exactIn(taken, 'base'), -left, scale)
  const answers = waiters.map(({ take }) => {
    const answer = takenAt(lease, base, take.step)
    base = laterBy(base, partsOf(take.step), scale)
    return answer
  })
  return { answers, rest: { ...lease, held: partsBetween(base, tat, scale) } }
}

/** Grants and spends leases. `stopwatch` is the local clock in milliseconds. */
export function leaseServer(
  store: Store,
  bounds: LeaseBounds,
  stopwatch: () => number,
  { onLease, isFree }: Leasing,
): LeaseServer<LeaseEntry> {
  const askFor = async (entry: LeaseEntry, { take, at, deadline }: Call, step: BucketStep): Promise<BucketTaken> => {
    const [taken] = (await store.take([{ ...take, step }], at, deadline)) as [BucketTaken]
    learn(entry, step, take.step, taken, stopwatch(), bounds)
    return taken
  }
  const check: LeaseServer<LeaseEntry>['check'] = (entry, call) => askFor(entry, call, call.take.step)
  const isStuck = ({ askedMs }: LeaseEntry): boolean => stopwatch() - askedMs > bounds.idleMs
  const partsFor = (entry: LeaseEntry, { take: { step }, at }: Call): number =>
    leaseParts(entry, step, at, stopwatch(), bounds)

  const fromLease = (entry: LeaseEntry, { take: { step }, at }: Call): BucketTaken | undefined => {
    const { lease } = entry
    if (lease === undefined || !isSameQuota(lease.step, step)) return undefined
    const spent = spend(lease, step, at ?? momentOf(lease, stopwatch()))
    if (spent) entry.usedMs = stopwatch()
    return spent
  }

  const serve = async (entry: LeaseEntry): Promise<void> => {
    do await serveWaiters(entry)
    while (entry.waiters.length > 0)
    entry.serving = undefined
  }
  /** Answers the waiting requests in few calls, and keeps the remaining units as a lease. */
  const serveWaiters = async (entry: LeaseEntry): Promise<void> => {
    const waiters = entry.waiters.splice(0).filter((each) => !isServed(each, fromLease(entry, each)))
    const [first] = waiters
    if (first === undefined) return
    const parts = partsFor(entry, first)
    if (canLease(entry, waiters, parts)) return lease(entry, first, waiters, parts)
    // After these checks, the store would refuse the return of the lease.
    await end(entry, first.at)
    for (const each of waiters) if (!isServed(each, undefined)) each.resolve(check(entry, each))
  }
  const canLease = (entry: LeaseEntry, waiters: readonly Waiter[], parts: number): boolean => {
    const { lease } = entry
    const { step } = lease ?? (waiters[0] as Waiter).take
    if (!isFree(entry) || !waiters.every(({ take }) => isSameQuota(take.step, step))) return false
    return lease !== undefined || parts > partsOf(step)
  }
  /** Leases these parts, or what the waiting requests need if that is more. */
  const lease = async (entry: LeaseEntry, first: Waiter, waiters: readonly Waiter[], parts: number): Promise<void> => {
    const { lease: old } = entry
    const { take, at } = first
    entry.lease = undefined
    entry.askedMs = stopwatch()
    try {
      const step = stepOf(take.step, Math.max(parts, partsOfAll(waiters)))
      const taken = await askFor(
        entry,
        { take, at, deadline: latestDeadline(waiters.map((each) => each.deadline)) },
        step,
      )
      if (taken.allowed) return grant(entry, waiters, taken, old ? partsLeft(old, at ?? nowOf(entry, old, taken)) : 0)
      const returned = old && (await returnLease(store, take, old, at, stopwatch()))
      denyOrAsk(entry, [...waiters, ...entry.waiters.splice(0)], returned ?? taken)
    } catch (error) {
      rejectAll(
        error,
        waiters,
        entry.waiters.splice(0),
        (late) => divide(entry, waiters, (late as readonly [BucketTaken])[0], 0),
        (rest) => returnLease(store, take, rest, at, stopwatch()),
      )
    }
  }
  /**
   * The time at which a lease is left by an answer: the store's, unless its clock has stepped back. What had been refilled when
   * the store was asked is not left.
   */
  const nowOf = ({ askedMs }: LeaseEntry, old: Lease, { now }: BucketTaken): Micros =>
    Math.max(now, momentOf(old, askedMs))
  /** Answers all, using up the old lease first, and keeps the rest as the new lease. */
  const grant = (entry: LeaseEntry, waiters: readonly Waiter[], taken: BucketTaken, left: number): void => {
    const { answers, rest } = divide(entry, waiters, taken, left)
    for (const [i, { resolve }] of waiters.entries()) resolve(answers[i] as BucketTaken)
    if (rest.held === 0 || isStuck(entry)) return
    entry.lease = rest
    onLease()
  }
  /**
   * Answers the waiting requests after a denied lease. The store's last answer shows how many units are left: requests that
   * they do not suffice for are denied, and the store is called for each of the others, concurrently.
   */
  const denyOrAsk = (entry: LeaseEntry, waiters: readonly Waiter[], last: BucketTaken): void => {
    const { step } = (waiters[0] as Waiter).take
    const { now } = last
    let full = exactIn(last, 'tat')
    for (const each of waiters) {
      const { take, resolve } = each
      if (isServed(each, undefined)) continue
      const fits = !isSameQuota(take.step, step) || tryAt(full, now, take.step).allowed
      if (fits) full = laterBy(full, partsOf(take.step), scaleOf(step))
      resolve(fits ? check(entry, each) : denial(now, full, take.step))
    }
  }
  const end = async (entry: LeaseEntry, at: Micros | undefined): Promise<void> => {
    const { lease } = entry
    entry.lease = undefined
    if (lease === undefined) return
    entry.size = halved(entry.size)
    await returnLease(store, entry.key, lease, at, stopwatch())
  }

  return {
    newEntry: (key) => ({ ...newEntry(key), ...firstSize(), waiters: [] }),
    check,
    isStuck,
    end,
    take(entry, call) {
      if (entry.serving && isStuck(entry)) return check(entry, call)
      if (!entry.serving) {
        const spent = fromLease(entry, call)
        if (spent) return Promise.resolve(spent)
        if (!entry.lease && partsFor(entry, call) === partsOf(call.take.step)) return check(entry, call)
      }
      return new Promise((resolve, reject) => {
        entry.waiters.push({ ...call, resolve, reject })
        entry.serving ??= serve(entry)
      })
    },
  }
}
