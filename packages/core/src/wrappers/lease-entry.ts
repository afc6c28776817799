import type { Micros } from '../common/time.ts'
import type { BucketTaken } from '../kernels/bucket-taken.ts'
import type { StateKey } from '../stores/store.ts'
import { detached } from './cached-state.ts'
import type { Call, Lease } from './lease.ts'
import type { Answer } from './lease-size.ts'

/** What a process knows of a key. */
export interface Entry {
  readonly key: StateKey
  lease: Lease | undefined
  /** Settles when the requests that wait for units are answered. */
  serving: Promise<void> | undefined
  /** When the store was called for the units that they wait for. */
  askedMs: number
  /** How many other calls of the key are under way: no lease is taken meanwhile. */
  others: number
  /** Settles when the lease has been returned, or the store has not answered for longer than a lease is kept. */
  ending: Promise<void> | undefined
  /** The store's last answer. */
  last: Answer | undefined
  /** When a request of the key was last made, allowed or denied, by the local clock. */
  usedMs: number
  /** Until when requests without units are denied without a call; leases have no such time. */
  pausedMs: number
}

export const newEntry = (key: StateKey): Entry => ({
  key: detached(key),
  lease: undefined,
  serving: undefined,
  askedMs: 0,
  others: 0,
  ending: undefined,
  last: undefined,
  usedMs: 0,
  pausedMs: 0,
})

export const isUnused = ({ lease, serving, others, ending }: Entry): boolean =>
  !lease && !serving && !ending && others === 0

/** How units are leased and spent. */
export interface LeaseServer<E extends Entry> {
  newEntry(key: StateKey): E
  /** Consumes a request's units from the lease of its key, or from the store together with those of other requests. */
  take(entry: E, call: Call): Promise<BucketTaken>
  /** Calls the store for one request, as without leases. */
  check(entry: E, call: Call): Promise<BucketTaken>
  /** Returns the unspent units of an entry. */
  end(entry: E, at: Micros | undefined): Promise<void>
  /**
   * Reports whether the store has not answered for longer than a lease is kept. It may never answer: new requests do not
   * wait for it, and its answer grants no lease.
   */
  isStuck(entry: E): boolean
}

/** What a server of leases is given. */
export interface Leasing {
  /** Called for each new lease. */
  readonly onLease: () => void
  /** Whether no other work on the key of an entry is under way: otherwise no lease of it is taken. */
  readonly isFree: (entry: Entry) => boolean
}
