import { setLongTimeout } from '../common/long-timeout.ts'
import type { Micros } from '../common/time.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import { deadlineIn, expiredError, isExpired, unlessExpired } from '../remote/deadline.ts'
import type { StateKey, Store, Take } from '../stores/store.ts'
import { shortStateName } from './cached-state.ts'
import { deletingAll, listing, storeTraits, takingEach } from './forwarding.ts'
import { type Call, isPlain, isSameQuota } from './lease.ts'
import { type Entry, isUnused, type LeaseServer, type Leasing } from './lease-entry.ts'

/** A store with leases. */
export interface LeasingStore extends Store {
  /**
   * Returns all unspent units to the store. Call it before the process ends, so that other processes can consume them. It
   * resolves after 10 seconds at most, also if the store does not answer: units that were not returned then refill with time.
   */
  release(): Promise<void>
}

/** How long `release` waits: a client may keep what it cannot send for as long as the process runs. */
const LONGEST_RELEASE: Micros = 10e6

/** The most keys with an entry; requests for further keys go to the store. */
const MOST = 10_000

const bucketsOf = (ops: readonly Take[]): readonly Take[] => ops.filter(({ step }) => step.kernel === 'bucket')

/** A store whose plain takes of buckets are served by `serverOf`. */
export function leasing<E extends Entry>(
  store: Store,
  { idleMs, stopwatch }: { readonly idleMs: number; readonly stopwatch: () => number },
  serverOf: (leasing: Leasing) => LeaseServer<E>,
): LeasingStore {
  const entries = new Map<string, E>()
  /** The policies of which all keys are being deleted, once for each deletion. */
  const swept: string[] = []
  /** The returns of leases that are under way. */
  const returns = new Set<Promise<void>>()
  let stop: (() => void) | undefined

  /** The entry of a key, moved to the end; undefined if too many are in use. */
  const entryOf = (name: string, key: StateKey): E | undefined => {
    const known = entries.get(name)
    if (known === undefined && entries.size >= MOST && !evict()) return undefined
    const entry = known ?? server.newEntry(key)
    entries.delete(name)
    entries.set(name, entry)
    return entry
  }
  const evict = (): boolean => {
    const [oldest] = entries
    const [name, entry] = oldest as [string, E]
    entries.delete(name)
    if (isUnused(entry)) return true
    entries.set(name, entry)
    return false
  }

  const hasLease = (): boolean => [...entries.values()].some(({ lease }) => lease)
  const watch = (): void => {
    const tidy = (): void => {
      stop = undefined
      void endAll(({ usedMs, serving }) => !serving && stopwatch() - usedMs >= idleMs)
      if (hasLease()) watch()
    }
    stop ??= setLongTimeout(idleMs, tidy, { holds: false })
  }
  const isFree = ({ others, key }: Entry): boolean => others === 0 && !swept.includes(key.policy)
  const server = serverOf({ onLease: watch, isFree })

  const takeOne = (entry: E, call: Call): Promise<BucketTaken> => {
    // The lease of a changed quota cannot be spent.
    const isChanged = entry.lease !== undefined && !isSameQuota(entry.lease.step, call.take.step)
    return isChanged ? alone([call.take], () => server.check(entry, call), call) : server.take(entry, call)
  }
  const endLease = (entry: E, at: Micros | undefined): Promise<void> | undefined => {
    const returned = async (): Promise<void> => {
      if (entry.serving && !server.isStuck(entry)) await entry.serving
      await server.end(entry, at)
    }
    const end = async (): Promise<void> => {
      const returning = returned()
      returns.add(returning)
      void returning.then(() => returns.delete(returning))
      // A call may be lost, and its promise never settle: other work on the key does not wait for longer.
      await unlessExpired(returning, deadlineIn(idleMs * 1000))
      entry.ending = undefined
    }
    if (!entry.ending && (entry.serving || entry.lease)) entry.ending = end()
    return entry.ending
  }
  const enter = (key: StateKey): readonly [string, E] | undefined => {
    const name = shortStateName(key)
    if (name === undefined) return undefined
    const entry = entries.get(name) ?? server.newEntry(key)
    entries.set(name, entry)
    entry.others++
    // It may bring units back.
    entry.pausedMs = 0
    return [name, entry]
  }
  const leave = ([name, entry]: readonly [string, E]): void => {
    entry.others--
    // Another request may have used the entry meanwhile, which did not have to make room for it.
    if (isUnused(entry) && (entry.last === undefined || entries.size > MOST)) entries.delete(name)
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
  const endAll = (isDue: (entry: E) => boolean): Promise<void> => {
    const due = [...entries.values()].filter((entry) => (entry.lease ?? entry.serving ?? entry.ending) && isDue(entry))
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
        return alone(bucketsOf(ops), () => store.take(ops, at, deadline), { at, deadline })
      }
      const name = shortStateName(op)
      const entry = name === undefined ? undefined : entryOf(name, op)
      return entry ? [await takeOne(entry, { take: op, at, deadline })] : store.take(ops, at, deadline)
    },
    ...takingEach(store, (batches, at, deadline, takeEach) =>
      alone(bucketsOf(batches.flat()), () => takeEach(batches, at, deadline), { at, deadline }),
    ),
    delete: (keys, deadline) => alone(keys, () => store.delete(keys, deadline), { deadline }),
    ...deletingAll(store, (policies, work) => {
      const known = [...entries.values()].filter(({ key }) => policies.includes(key.policy))
      swept.push(...policies)
      return alone(
        known.map(({ key }) => key),
        work,
      ).finally(() => {
        for (const each of policies) swept.splice(swept.indexOf(each), 1)
      })
    }),
    ...listing(store),
    async release() {
      const ended = endAll(() => true)
      await unlessExpired(Promise.all([ended, ...returns]), deadlineIn(LONGEST_RELEASE))
      if (hasLease()) return
      stop?.()
      stop = undefined
    },
  }
}
