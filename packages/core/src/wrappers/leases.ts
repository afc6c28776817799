import { expiredError, isExpired } from '../deadline.ts'
import { formatValue, QuotaError } from '../errors.ts'
import type { BucketTaken } from '../kernels/bucket.ts'
import { setLongTimeout } from '../long-timeout.ts'
import { checkOptions } from '../options.ts'
import { deletingAll, listing, type StateKey, type Store, storeTraits, takingEach } from '../store.ts'
import { type Duration, type Micros, micros } from '../time.ts'
import { copyOf, shortStateName } from './cached-state.ts'
import { isPlain, isSameQuota } from './lease.ts'
import { type Call, type Entry, isUnused, leaseServer, newEntry } from './lease-server.ts'
import { halved } from './lease-size.ts'

/** Options of `withLeases`. */
export interface LeaseOptions {
  /** The most requests one lease is for: 2 or more. */
  readonly requests: number
  /**
   * What a crash of the process can lose: a lease holds no more units than the bucket refills in this time.
   * @default `'1s'`
   */
  readonly maxLoss?: Duration
  /**
   * How long an unused lease is kept before it is returned.
   * @default `'1s'`
   */
  readonly idle?: Duration
  /**
   * A monotonic clock in milliseconds, for tests.
   * @default `performance.now`
   */
  readonly stopwatch?: () => number
}

/** A store with leases. */
export interface LeasingStore extends Store {
  /** Returns all unspent units to the store. Call it before the process ends, so that other processes can consume them. */
  release(): Promise<void>
}

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** The most keys with an entry; requests for further keys go to the store. */
const MOST = 10_000

/**
 * Returns a store that leases units of a bucket for many requests at once and spends them in this process: far fewer calls,
 * and most requests are answered without one.
 *
 * It allows no more than the bucket does: leased units that the bucket has refilled since are dropped. The price is fairness:
 * leased units are not available to other processes until they are spent, returned or refilled.
 *
 * The first request of a key is sent to the store. A lease doubles each time it is renewed within `idle`, and halves when it
 * is denied or returned. It holds at most half of what is left in the bucket, and at most what the bucket refills in
 * `maxLoss`: a process that is killed loses no more than that.
 *
 * It is exact as long as no other process refunds or resets the key. If one does, each process that holds a lease allows at
 * most what the bucket refills in `maxLoss` too much, for as long as its lease lasts. Windows and logs are not leased.
 *
 * Throws a `QuotaError` if an option is invalid.
 */
export function withLeases(store: Store, options: LeaseOptions): LeasingStore {
  checkOptions('withLeases', options, ['requests', 'maxLoss', 'idle', 'stopwatch'])
  const { requests, stopwatch = () => performance.now() } = options
  const bounds = {
    requests,
    maxLoss: micros(options.maxLoss ?? '1s', 'maxLoss'),
    idleMs: micros(options.idle ?? '1s', 'idle') / 1000,
  }
  if (!Number.isSafeInteger(requests) || requests < 2) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      `requests must be a whole number, 2 or more; got ${formatValue(requests)}.`,
    )
  }
  const entries = new Map<string, Entry>()
  let stop: (() => void) | undefined

  /** The entry of a key, moved to the end; undefined if too many are in use. */
  const entryOf = (name: string, key: StateKey): Entry | undefined => {
    const known = entries.get(name)
    if (known === undefined && entries.size >= MOST && !evict()) return undefined
    const entry = known ?? newEntry(copyOf(key))
    entries.delete(name)
    entries.set(name, entry)
    return entry
  }
  const evict = (): boolean => {
    const [oldest] = entries
    const [name, entry] = oldest as [string, Entry]
    entries.delete(name)
    if (isUnused(entry)) return true
    entries.set(name, entry)
    return false
  }

  const hasLease = (): boolean => [...entries.values()].some(({ lease }) => lease)
  const watch = (): void => {
    const tidy = (): void => {
      stop = undefined
      void endAll(({ usedMs, serving }) => !serving && stopwatch() - usedMs >= bounds.idleMs)
      if (hasLease()) watch()
    }
    stop ??= setLongTimeout(bounds.idleMs, tidy, { holds: false })
  }
  const server = leaseServer(store, bounds, stopwatch, watch)

  const takeOne = (entry: Entry, call: Call): Promise<BucketTaken> => {
    // The lease of a changed quota cannot be spent.
    const isChanged = entry.lease !== undefined && !isSameQuota(entry.lease.step, call.take.step)
    return isChanged ? alone([call.take], () => server.check(entry, call), call) : server.take(entry, call)
  }
  const endLease = (entry: Entry, at: Micros | undefined): Promise<void> | undefined => {
    const end = async (): Promise<void> => {
      if (entry.serving && !server.isStuck(entry)) await entry.serving
      const { lease } = entry
      entry.lease = undefined
      if (lease) {
        entry.size = halved(entry.size)
        await server.returnLease(entry.key, lease, at)
      }
      entry.ending = undefined
    }
    if (!entry.ending && (entry.serving || entry.lease)) entry.ending = end()
    return entry.ending
  }
  const enter = (key: StateKey): readonly [string, Entry] | undefined => {
    const name = shortStateName(key)
    if (name === undefined) return undefined
    const entry = entries.get(name) ?? newEntry(copyOf(key))
    entries.set(name, entry)
    entry.others++
    return [name, entry]
  }
  const leave = ([name, entry]: readonly [string, Entry]): void => {
    entry.others--
    if (isUnused(entry) && entry.last === undefined) entries.delete(name)
  }
  /** Runs other work on keys: their leases are returned first, and none is granted meanwhile. */
  const alone = async <T>(
    keys: readonly StateKey[],
    work: () => Promise<T>,
    { at, deadline }: Pick<Partial<Call>, 'at' | 'deadline'> = {},
  ): Promise<T> => {
    const entered = keys.map(enter).filter((each) => each !== undefined)
    try {
      const ends = entered.map(([, entry]) => endLease(entry, at)).filter((end) => end !== undefined)
      if (ends.length > 0) {
        await Promise.all(ends)
        if (isExpired(deadline)) throw expiredError()
      }
      return await work()
    } finally {
      entered.forEach(leave)
    }
  }
  const endAll = (isDue: (entry: Entry) => boolean): Promise<void> => {
    const due = [...entries.values()].filter((entry) => (entry.lease ?? entry.serving) && isDue(entry))
    return alone(
      due.map(({ key }) => key),
      async () => {},
    )
  }

  return {
    ...storeTraits(store),
    async take(ops, at, deadline) {
      const [op] = ops
      if (ops.length > 1 || !isPlain(op)) {
        return alone(
          ops.filter(({ step }) => step.kernel === 'bucket'),
          () => store.take(ops, at, deadline),
          { at, deadline },
        )
      }
      const name = shortStateName(op)
      const entry = name === undefined ? undefined : entryOf(name, op)
      return entry ? [await takeOne(entry, { take: op, at, deadline })] : store.take(ops, at, deadline)
    },
    ...takingEach(store, (batches, at, deadline, takeEach) =>
      alone(
        (batches[0] ?? []).filter(({ step }) => step.kernel === 'bucket'),
        () => takeEach(batches, at, deadline),
        { at, deadline },
      ),
    ),
    delete: (keys, deadline) => alone(keys, () => store.delete(keys, deadline), { deadline }),
    ...deletingAll(store, (policies, work) => {
      const known = [...entries.values()].filter(({ key }) => policies.includes(key.policy))
      return alone(
        known.map(({ key }) => key),
        work,
      )
    }),
    ...listing(store),
    async release() {
      await endAll(() => true)
      if (hasLease()) return
      stop?.()
      stop = undefined
    },
  }
}
