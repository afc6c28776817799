import type { Quota } from '@spillway/core'

/** A call and its result. Times are in milliseconds after {@link START}, and may step back. */
export type Row = readonly [
  atMs: number,
  verb: 'consume' | 'peek' | 'refund' | 'charge',
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfterMs: number,
  resetAfterMs: number,
  /** The index of the row whose take is refunded, from 0. Without it, the refund has no handle. */
  of?: number,
]

/** A sequence of calls on one key under one quota, with results that were calculated manually. */
export interface Vector {
  readonly name: string
  readonly quota: Quota
  readonly rows: readonly Row[]
}
