import type { Micros } from '../common/time.ts'
import { type BucketTaken, exactIn } from '../kernels/bucket-taken.ts'
import type { BucketStep } from '../kernels/bucket-types.ts'
import { latestDeadline } from '../remote/deadline.ts'
import { type Call, isSameQuota, type Lease, momentOf, partsOf, scaleOf } from './lease.ts'
import type { LeaseServer, Leasing } from './lease-entry.ts'
import { returnLease } from './lease-server.ts'
import type { Answer } from './lease-size.ts'
import { countDemand, demandAt, denialFor, holdOf, isShareable, lifeOf, partsHeld, spendShare } from './share.ts'
import { newShare, type ShareEntry } from './share-entry.ts'
import { acquireParts, type BatchingStore, divide, type Granted } from './share-grant.ts'
import { isServed, partsOfAll, rejectAll, type Waiter } from './waiters.ts'

/** How many round trips before its end a share is renewed. */
const AHEAD = 1.5

/**
 * How much of a hold a process asks for no share after one that was too small: a half to all of it, by the digits of two
 * clocks, so that no process always asks just after another.
 */
const pauseOf = ({ now }: BucketTaken, ms: number): number => 0.5 + ((now + Math.floor(ms * 1000)) % 1024) / 2048

/** Grants and spends shares. `stopwatch` is the local clock in milliseconds. */
export function shareServer(
  store: BatchingStore,
  { margin, idleMs }: { readonly margin: number; readonly idleMs: number },
  stopwatch: () => number,
  { onLease, isFree }: Leasing,
): LeaseServer<ShareEntry> {
  const holdFor = ({ take }: Call): Micros => holdOf(take.step, margin)
  const nowOf = (of: Pick<Lease, 'now' | 'askedMs'>, { at }: Call): Micros => at ?? momentOf(of, stopwatch())
  const isStuck = ({ askedMs }: ShareEntry): boolean => stopwatch() - askedMs > idleMs
  const remember = (entry: ShareEntry, step: BucketStep, taken: BucketTaken, askedMs: number): Answer => {
    const last = { step, tat: exactIn(taken, 'tat'), now: taken.now, askedMs }
    entry.last = last
    entry.usedMs = stopwatch()
    return last
  }
  const check = async (entry: ShareEntry, { take, at, deadline }: Call): Promise<BucketTaken> => {
    const askedMs = stopwatch()
    const [taken] = (await store.take([take], at, deadline)) as [BucketTaken]
    remember(entry, take.step, taken, askedMs)
    return taken
  }

  const partsIn = (share: Lease | undefined, call: Call): number =>
    share === undefined ? 0 : partsHeld(share, nowOf(share, call), holdFor(call))
  const fromShare = (entry: ShareEntry, call: Call): BucketTaken | undefined => {
    if (entry.next && partsIn(entry.lease, call) < partsOf(call.take.step)) {
      entry.lease = entry.next
      entry.next = undefined
    }
    const { lease } = entry
    if (lease === undefined || !isSameQuota(lease.step, call.take.step)) return undefined
    return spendShare(lease, call.take.step, nowOf(lease, call), holdFor(call))
  }
  /** How long a key is paused, in microseconds. */
  const restOf = ({ pausedMs }: ShareEntry): Micros => Math.ceil((pausedMs - stopwatch()) * 1000)
  /** The denial of a request without a call. */
  const denied = (last: Answer, call: Call, rest: Micros): BucketTaken =>
    denialFor(last, nowOf(last, call), rest, call.take.step)
  const fromPause = (entry: ShareEntry, call: Call): BucketTaken | undefined => {
    const { last } = entry
    const rest = restOf(entry)
    return rest > 0 && last && isSameQuota(last.step, call.take.step) ? denied(last, call, rest) : undefined
  }
  /** The demand of a hold that a process may hold units for. */
  const demandFor = ({ demand }: ShareEntry, call: Call): number => {
    const hold = holdFor(call)
    return Math.min(demandAt(demand, stopwatch(), hold), hold * scaleOf(call.take.step))
  }
  /** The parts of the next share: the demand of a hold, without the part of it that the current share serves. */
  const partsFor = (entry: ShareEntry, call: Call): number => {
    const { lease } = entry
    const hold = holdFor(call)
    const wants = demandFor(entry, call)
    const life = lease ? lifeOf(lease, nowOf(lease, call), hold) / hold : 0
    return Math.ceil(wants - Math.min(partsIn(lease, call), wants * life))
  }
  /** Acquires the next share before it is needed, so that no request waits for it. */
  const askAhead = (entry: ShareEntry, call: Call): void => {
    const { tripMs, pausedMs, failedMs } = entry
    if (entry.serving || entry.next || !isFree(entry)) return
    const ms = stopwatch()
    if (ms < pausedMs - tripMs || ms < failedMs || !isLow(entry, call)) return
    entry.serving = serve(entry, { ...call, deadline: undefined })
  }
  /** Reports whether the current share ends before the next one would arrive, and that is worth a call. */
  const isLow = (entry: ShareEntry, call: Call): boolean => {
    const { lease } = entry
    const [wants, hold, ahead] = [demandFor(entry, call), holdFor(call), AHEAD * entry.tripMs * 1000]
    if (partsFor(entry, call) * 2 < wants) return false
    if (partsIn(lease, call) <= (wants * ahead) / hold) return true
    return lease !== undefined && lifeOf(lease, nowOf(lease, call), hold) <= ahead
  }

  /** Answers the waiting requests with one share, and keeps the rest of it. */
  const share = async (entry: ShareEntry, call: Call, waiters: readonly Waiter[]): Promise<void> => {
    const { step } = call.take
    const wanted = Math.max(partsFor(entry, call), partsOfAll(waiters), partsOf(step))
    const askedMs = stopwatch()
    entry.askedMs = askedMs
    const granted = await acquireParts(store, call, wanted, holdFor(call), entry.isShort)
    const { taken, parts } = granted
    const last = remember(entry, step, taken, askedMs)
    entry.tripMs = stopwatch() - askedMs
    entry.isShort = parts < wanted
    // Of a late answer, units may have come back since.
    if (entry.isShort && !isStuck(entry)) {
      entry.pausedMs = askedMs + (holdFor(call) / 1000) * pauseOf(taken, stopwatch())
    }
    const { answers, rest } = divide(waiters, step, askedMs, granted)
    for (const [i, each] of waiters.entries()) {
      each.resolve(answers[i] ?? denied(last, each, Math.max(restOf(entry), 1)))
    }
    if (rest.held === 0 || isStuck(entry)) return
    if (partsIn(entry.lease, call) > 0) entry.next = rest
    else entry.lease = rest
    onLease()
  }
  /** The answer to a request if that needs no call. */
  const withoutCall = (entry: ShareEntry, call: Call): BucketTaken | undefined =>
    fromShare(entry, call) ?? fromPause(entry, call)
  const shareOrCheck = async (entry: ShareEntry, first: Call, waiters: readonly Waiter[]): Promise<void> => {
    const { step } = first.take
    if (isFree(entry) && waiters.every(({ take }) => isSameQuota(take.step, step))) {
      return share(entry, first, waiters)
    }
    // After these checks, the store would refuse the return of the share.
    await end(entry, first.at)
    for (const each of waiters) if (!isServed(each, undefined)) each.resolve(check(entry, each))
  }
  const serveWaiters = async (entry: ShareEntry, ahead: Call | undefined): Promise<void> => {
    const waiters = entry.waiters.splice(0).filter((each) => !isServed(each, withoutCall(entry, each)))
    const [first] = waiters
    const call = first ? { ...first, deadline: latestDeadline(waiters.map((each) => each.deadline)) } : ahead
    if (call === undefined) return
    try {
      await shareOrCheck(entry, call, waiters)
    } catch (error) {
      entry.failedMs = stopwatch() + idleMs
      const { take, at } = call
      rejectAll(
        error,
        waiters,
        entry.waiters.splice(0),
        (late) => divide(waiters, take.step, entry.askedMs, late as Granted),
        (rest) => returnLease(store, take, rest, at, stopwatch()),
      )
    }
  }
  const serve = async (entry: ShareEntry, ahead?: Call): Promise<void> => {
    await serveWaiters(entry, ahead)
    while (entry.waiters.length > 0) await serveWaiters(entry, undefined)
    entry.serving = undefined
  }
  const end = async (entry: ShareEntry, at: Micros | undefined): Promise<void> => {
    const { key, lease, next } = entry
    entry.lease = entry.next = undefined
    entry.pausedMs = 0
    for (const each of [next, lease]) if (each) await returnLease(store, key, each, at, stopwatch())
  }

  return {
    newEntry: newShare,
    check,
    isStuck,
    end,
    take(entry, call) {
      const { step } = call.take
      const hold = holdFor(call)
      if (!isShareable(step, hold)) return check(entry, call)
      const ms = stopwatch()
      // What it does not spend of a share would be returned before the next request.
      const isRare = ms - entry.usedMs > idleMs
      entry.usedMs = ms
      countDemand(entry.demand, partsOf(step), ms, hold)
      const taken = withoutCall(entry, call)
      if (taken) {
        askAhead(entry, call)
        return Promise.resolve(taken)
      }
      const isAlone = !entry.serving && (isRare || partsFor(entry, call) <= partsOf(step))
      if (isAlone || (entry.serving && isStuck(entry))) return check(entry, call)
      return new Promise((resolve, reject) => {
        entry.waiters.push({ ...call, resolve, reject })
        entry.serving ??= serve(entry)
      })
    },
  }
}
