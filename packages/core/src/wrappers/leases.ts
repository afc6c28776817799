import { checkOptions } from '../common/guess.ts'
import { checkCount, checkFunctions } from '../common/options.ts'
import { type Duration, micros, monotonicMs } from '../common/time.ts'
import type { Store } from '../stores/store.ts'
import { checkIsStore } from '../stores/store-kinds.ts'
import { leaseServer } from './lease-server.ts'
import { type LeasingStore, leasing } from './leasing.ts'

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
 * most what the bucket refills in `maxLoss` too much, for as long as its lease lasts. Token buckets, queues, refills at intervals
 * and fixed windows of the clock are leased, except with `overdraft` or `initial`.
 *
 * Throws a `QuotaError` if an option is invalid.
 */
export function withLeases(store: Store, options: LeaseOptions): LeasingStore {
  checkIsStore('the store of withLeases', store)
  checkOptions('withLeases', options, ['requests', 'maxLoss', 'idle', 'stopwatch'])
  checkFunctions(options, ['stopwatch'])
  const { stopwatch = monotonicMs } = options
  const bounds = {
    requests: checkCount('requests', options.requests, 2),
    maxLoss: micros(options.maxLoss ?? '1s', 'maxLoss'),
    idleMs: micros(options.idle ?? '1s', 'idle') / 1000,
  }
  return leasing(store, { ...bounds, stopwatch }, (leasing) => leaseServer(store, bounds, stopwatch, leasing))
}
