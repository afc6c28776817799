import type { Quota } from '@spillway/core'
import { type Entry, isByStore } from '../ledger.ts'

/** Units that may be admitted in a span of time that overlaps with this one. */
interface Extra {
  readonly from: number
  readonly to: number
  readonly units: number
}

/** What a key may be admitted in a span of time besides the burst and the refill, by the calls that concern it. */
export interface AllowanceOptions {
  /** The units of a full bucket. */
  readonly burst: number
  /** When the state was lost. */
  readonly losses: readonly { readonly at: number }[]
  /** When a reset has deleted the state, also once more by a command that is sent again; undefined if that is not known. */
  readonly deleted?: readonly { readonly at: number }[]
  /** Refunds that the client has sent again after they had been made. */
  readonly resent: readonly { readonly at: number; readonly units: number }[]
  /** Whether units of calls that were decided without the store are refunded when it answers late. */
  readonly refundsLate: boolean
  /** What a store holds as a lease, at most, and how many other stores do when units are refunded or the state is reset. */
  readonly lease: number
  readonly others: number
}

/**
 * One burst for each reset or loss of the state, and the turns in a queue that it forgets; one for each call during or after
 * one by a shorter quota; the units of refunds that name no request; and those of refunds after one of these, for requests
 * before it: the state does not tell to whom its units belong. A refund that the client sends again is made again.
 */
export function allowanceOf(
  entries: readonly Entry[],
  { burst, losses, deleted, resent, refundsLate, lease, others }: AllowanceOptions,
): (from: number, to: number) => number {
  const spanOf = ({ calledAt, answeredAt, error, decision }: Entry, units: number): Extra => ({
    from: calledAt,
    // A call that has failed may be executed later.
    to: (error ?? decision?.degraded) ? Number.POSITIVE_INFINITY : (answeredAt ?? Number.POSITIVE_INFINITY),
    units,
  })
  // Turns that are taken come after a reset, too.
  const turnsAfter = (at: number): number =>
    entries
      .filter(({ calledAt, turnAt }) => calledAt <= at && turnAt > at)
      .reduce((sum, { kept, cost }) => sum + Math.min(kept, cost), 0)
  const forgotten = ({ at }: { readonly at: number }): Extra => ({ from: at, to: at, units: burst + turnsAfter(at) })
  const states = [
    ...longerOf(entries).map((entry) => spanOf(entry, burst)),
    ...losses.map(forgotten),
    ...(deleted?.map(forgotten) ?? entries.filter(({ verb }) => verb === 'reset').map((entry) => spanOf(entry, burst))),
  ]
  const refunds = entries.filter(({ verb }) => verb === 'refund').map((entry) => spanOf(entry, entry.cost))
  // A refund that was asked for before a reset may wait for the network, and be made after it.
  const isStale = ({ calledAt, refundAnsweredAt = Number.POSITIVE_INFINITY }: Entry): boolean =>
    [...states, ...refunds].some((each) => calledAt <= each.to && refundAnsweredAt >= each.from)
  const stale = entries
    .filter((entry) => (mayBeRefunded(entry) || (refundsLate && !isByStore(entry))) && isStale(entry))
    .map(({ calledAt, refundedAt, cost }) => ({
      from: refundedAt ?? calledAt,
      to: Number.POSITIVE_INFINITY,
      units: cost,
    }))
  // It returns units of other requests, whose own refunds then return those of later ones.
  const again = resent.map(({ at, units }) => ({ from: at, to: Number.POSITIVE_INFINITY, units }))
  const extras = [...states, ...refunds, ...stale, ...again]
  // What another store returns moves a lease down, whose last units refill before they are spent.
  const returned = lease > 0 && others > 0 ? entries.filter(({ refundedAt }) => refundedAt !== undefined) : []
  if (extras.length + returned.length === 0) return () => 0
  return (from, to) => {
    let units = 0
    // A store that resets a key returns its own lease; of a loss it does not know.
    if (losses.some(({ at }) => at <= to)) units += lease
    for (const each of extras) {
      if (each.from <= to && each.to >= from) units += each.units
      if (each.from <= to) units += lease * others
    }
    return units + returnedIn(returned, from - LEASE_LIFE, to)
  }
}

const returnedIn = (entries: readonly Entry[], from: number, to: number): number =>
  entries
    .filter(({ refundedAt = 0 }) => refundedAt >= from && refundedAt <= to)
    .reduce((sum, { cost, kept }) => sum + Math.max(cost - kept, 0), 0)

/** How long a lease is kept: it is returned a second after its last use, and timers and clocks may be late. */
const LEASE_LIFE = 2_000_000

/**
 * The calls by a quota whose bucket takes longer to refill than that of a call before or during them, or of one that is refunded
 * later. That may have forgotten what is older than its own bucket.
 */
function longerOf(entries: readonly Entry[]): readonly Entry[] {
  if (new Set(entries.map(({ quota }) => quota)).size <= 1) return []
  return entries.filter(({ quota, calledAt, answeredAt = Number.POSITIVE_INFINITY }, i) =>
    entries.some((other, j) => {
      const endsAt = Math.max(other.answeredAt ?? calledAt, other.refundedAt ?? 0)
      const isDuring = other.calledAt <= answeredAt && endsAt >= calledAt
      return (isDuring || j === i - 1) && other.quota !== quota && !(lengthOf(other.quota) >= lengthOf(quota))
    }),
  )
}

/** How long a bucket takes to refill, in microseconds; NaN for others. */
export const lengthOf = (quota: Quota): number =>
  quota.kernel === 'bucket' && quota.schedule === null ? (quota.limit * quota.ticksPerUnit) / quota.scale : Number.NaN

const mayBeRefunded = (entry: Entry): boolean =>
  entry.refundedAt !== undefined || (entry.kept === 0 && (!isByStore(entry) || entry.verb === 'both'))
