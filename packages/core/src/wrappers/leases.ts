import { QuotaError, shown } from '../errors.ts'
import { type BucketStep, type BucketTaken, bucket, bucketState, tickOf } from '../kernels/bucket.ts'
import type { Step, Taken } from '../kernels/kernel.ts'
import { checkOptions } from '../options.ts'
import { later } from '../sleep.ts'
import { partsOfStore, type Store, type Take } from '../store.ts'
import { type Duration, LONGEST, type Micros, micros } from '../time.ts'
import { isCompatible, nameOf } from './cached-state.ts'

/** What `withLeases` takes besides the store. */
export interface LeaseOptions {
  /** How many requests, like the one that comes first, a lease is for: 2 or more. A bucket leases half of its size at most. */
  readonly requests: number
  /** How long a lease that nobody spends is kept before it is given back; 1 s unless given. */
  readonly idle?: Duration
  /** A stopwatch in milliseconds, for tests. */
  readonly stopwatch?: () => number
}

/** A store that hands out leases. */
export interface LeasingStore extends Store {
  /** Gives back what is leased and not spent: before the process ends, so that others need not wait for it. */
  release(): Promise<void>
}

/** Units that are taken from the store and not spent yet. */
interface Lease {
  readonly take: Take & { readonly step: BucketStep }
  /** The state's tick when the units had been taken, which it has not gone below since. */
  readonly tat: number
  /** By which the take is refunded. */
  readonly gross: number
  /** Ticks that are left to spend. */
  held: number
  /** The store's clock, and ours before the store was asked. */
  readonly now: Micros
  readonly askedMs: number
  usedMs: number
}

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** The most leases at a time; further keys are asked about one request at a time. */
const MOST = 10_000

/**
 * A store that takes units of a bucket for many requests at once and spends them in this process: far fewer calls, and
 * an answer at once for most requests.
 *
 * It admits nothing that the bucket would not. Held units count as not taken only as long as the bucket has not filled
 * up past them: what has come back there by itself is dropped here. What it costs is fairness: units held here are not
 * there for other processes, `requests` requests' worth a process at most, until they are given back.
 *
 * Exact as long as nobody else gives units back to the key: a refund or reset by another process is overdrawn by no more
 * than it gave, for as long as a lease lasts. Windows and logs are not leased.
 */
export function withLeases(store: Store, options: LeaseOptions): LeasingStore {
  checkOptions('withLeases', options, ['requests', 'idle', 'stopwatch'])
  const { requests, stopwatch = () => performance.now() } = options
  const idleMs = micros(options.idle ?? '1s', 'idle') / 1000
  if (!Number.isSafeInteger(requests) || requests < 2) {
    throw new QuotaError('ERR_SPILLWAY_OPTION', `requests must be a whole number, 2 or more; got ${shown(requests)}.`)
  }
  const leases = new Map<string, Lease>()
  const coming = new Map<string, Promise<unknown>>()
  let stop: (() => void) | undefined

  /** What is left of a lease: no more than what the bucket has yet to fill. Our clock may be ahead, never behind. */
  const left = ({ tat, held, now, askedMs, take }: Lease, at: Micros | undefined): number => {
    const moment = at ?? now + Math.ceil((stopwatch() - askedMs) * 1000)
    return Math.min(held, tat - tickOf(moment, take.step.grain))
  }
  const spend = (name: string, step: BucketStep, at: Micros | undefined): BucketTaken | undefined => {
    const lease = leases.get(name)
    if (lease === undefined) return undefined
    const held = left(lease, at)
    const now = at ?? lease.now + Math.ceil((stopwatch() - lease.askedMs) * 1000)
    const state = bucketState({ now, base: lease.tat - held }, step)
    const { allowed, base, next } = bucket(state, now, step)
    if (held < step.increment || !allowed) return undefined
    lease.held = held - step.increment
    lease.usedMs = stopwatch()
    return { allowed, now, base, tat: next, gross: next + lease.gross - lease.tat }
  }
  const giveBack = async (name: string, at?: Micros): Promise<void> => {
    const lease = leases.get(name)
    if (lease === undefined) return
    leases.delete(name)
    const units = left(lease, at)
    if (units > 0) await store.take([{ ...lease.take, step: back(lease.take.step, units, lease.gross) }], at)
  }
  const tidy = (): void => {
    stop = undefined
    for (const [name, { usedMs }] of leases) {
      // Should it fail, the units come back by themselves.
      if (stopwatch() - usedMs >= idleMs) giveBack(name).catch(() => {})
    }
    watch()
  }
  const watch = (): void => {
    if (leases.size > 0) stop ??= later(idleMs, tidy, { holds: false })
  }

  const acquire = async (name: string, take: Lease['take'], at: Micros | undefined): Promise<Taken> => {
    const { step } = take
    const times = Math.min(requests, Math.floor(step.tolerance / step.increment / 2))
    const old = leases.get(name)
    const askedMs = stopwatch()
    if (times > 1 && (old !== undefined || leases.size < MOST)) {
      const many = { ...take, step: { ...step, increment: times * step.increment, check: times * step.check } }
      const [taken] = (await store.take([many], at)) as [BucketTaken]
      if (taken.allowed) {
        const { now, tat, gross } = taken
        const kept = old === undefined ? 0 : Math.max(left(old, now), 0)
        const base = taken.base - kept
        leases.set(name, { take, tat, gross, held: tat - base - step.increment, now, askedMs, usedMs: askedMs })
        watch()
        return { allowed: true, now, base, tat: base + step.increment, gross: base + step.increment + gross - tat }
      }
    }
    await giveBack(name, at)
    const [taken] = await store.take([take], at)
    return taken as Taken
  }
  const takeOne = async (take: Lease['take'], at: Micros | undefined): Promise<Taken> => {
    const name = nameOf(take)
    if (name === undefined) return (await store.take([take], at))[0] as Taken
    const lease = leases.get(name)
    // A quota that was changed may count otherwise.
    if (lease && !isCompatible({ step: lease.take.step, state: lease.tat }, take.step, lease.now))
      await giveBack(name, at)
    for (;;) {
      const spent = spend(name, take.step, at)
      if (spent) return spent
      const acquiring = coming.get(name)
      if (acquiring === undefined) break
      await acquiring
    }
    const acquiring = acquire(name, take, at)
    coming.set(name, acquiring)
    try {
      return await acquiring
    } finally {
      coming.delete(name)
    }
  }

  return {
    ...partsOfStore(store),
    async take(ops, at) {
      const [op] = ops
      if (ops.length === 1 && isPlain(op as Take)) return [await takeOne(op as Lease['take'], at)]
      // Whatever else is asked of a key finds it as if nothing had been leased.
      for (const each of ops) await giveBack(nameOf(each) ?? '', at)
      return store.take(ops, at)
    },
    async delete(keys) {
      for (const key of keys) leases.delete(nameOf(key) ?? '')
      await store.delete(keys)
    },
    async release() {
      stop?.()
      stop = undefined
      await Promise.all([...leases.keys()].map((name) => giveBack(name)))
    },
  }
}

/** A request that takes its units from a bucket now or not at all. */
function isPlain({ step }: Take): boolean {
  return (
    step.kernel === 'bucket' && !step.peek && step.increment > 0 && step.check === step.increment && step.patience === 0
  )
}

function back(step: BucketStep, units: number, until: number): Step {
  return { ...step, increment: -units, check: 0, tolerance: LONGEST, until }
}
