import { type Entry, isByStore, type Ledger } from '../ledger.ts'
import type { LostEffect } from '../network.ts'
import type { Simulation } from '../simulation.ts'
import { lengthOf } from './allowance.ts'
import { sum } from './balance.ts'
import { entriesOf } from './states.ts'

/**
 * A quota that replaces another one counts what was consumed by both: it admits nothing that does not fit beside all units
 * that callers have had before. Buckets only, and no call by one that refills sooner before it: it forgets what is older than
 * its own. Nor a refund, unless all quotas refill in the same time: one that refills sooner forgets, and one by another
 * returns units that are forgotten. Units that are refunded are not counted, nor are keys that are reset or lost, nor those
 * with a refund that the client has sent again, nor leases of several stores: one may spend what it has held since before
 * another's calls.
 */
export function replacedQuotasAdmitNoMore({ ledger, setting, servers }: Simulation): readonly string[] {
  if (setting.lease !== undefined && setting.processes * setting.handles > 1) return []
  const groups = servers.flatMap((server) => [...entriesOf(ledger, server).values()])
  return groups.filter((entries) => areCounted(entries, ledger)).flatMap(overfullIn)
}

/** A part of a quota whose units do not take whole microseconds is rounded. */
const ROUNDING = 1e-9

function areCounted(entries: readonly Entry[], { losses, lostEffects, steps }: Ledger): boolean {
  const [{ server, name, quota }] = entries as readonly [Entry]
  if (entries.every((entry) => entry.quota === quota)) return false
  const isResent = (effect: LostEffect): boolean => effect.how === 'again' && effect.ticks < 0
  if (lostEffects.some((effect) => effect.server === server && effect.name === name && isResent(effect))) return false
  if (entries.some(({ verb }) => verb === 'reset' || verb === 'refund')) return false
  return !losses.some((loss) => loss.server === server) && !steps.some(({ of }) => of === server)
}

/** When units of a call may first be refunded: those that the store takes late are, if it was decided without the store. */
const refundedFrom = (entry: Entry): number =>
  isByStore(entry) ? (entry.refundedAt ?? Number.POSITIVE_INFINITY) : entry.calledAt

function overfullIn(entries: readonly Entry[]): readonly string[] {
  const [first] = entries as readonly [Entry]
  const admitted = entries.filter((entry) => isByStore(entry) && entry.kept > 0)
  const longest = Math.max(...entries.map(({ quota }) => lengthOf(quota)))
  const atOnce = admitted.filter(({ verb }) => verb !== 'reserve' && verb !== 'wait')
  return atOnce.flatMap((entry) => {
    const { calledAt, answeredAt = calledAt, quota, host, kept, name } = entry
    const length = lengthOf(quota)
    const isForgotten = entries.some(
      (other) =>
        (other.calledAt <= answeredAt && !(lengthOf(other.quota) >= length)) ||
        (refundedFrom(other) <= answeredAt && !(lengthOf(other.quota) === longest && length === longest)),
    )
    const before = admitted.filter((other) => other.turnAt < calledAt)
    const used = sum([...before, entry].map((each) => (each.kept * lengthOf(each.quota)) / each.quota.limit))
    const most = length + answeredAt - first.calledAt
    return isForgotten || used <= most * (1 + ROUNDING)
      ? []
      : [
          `${host.name} admitted ${kept} of ${name} by a quota of ${quota.limit} at ${answeredAt} µs: ${used} of ${most} ticks`,
        ]
  })
}
