import { type Entry, isByStore, type Ledger } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'

/**
 * A client that waits as long as its denial says is admitted, if no other caller uses the key meanwhile, no clock is set
 * or slow, and no state is lost. With leases, other stores may hold its units. By a fast clock, a deny cache reports waits that
 * are too short: its denials are those of the same tick.
 */
export function waitsAreLongEnough({ ledger, setting, processes, faults }: Simulation): readonly string[] {
  const holders = processes.length * setting.handles
  if (setting.lease !== undefined && holders > 1) return []
  // Of a bucket only, the ledger knows what a command that is sent again has consumed twice.
  if (setting.resends && faults.length > 0 && setting.quota.kernel !== 'bucket') return []
  return ledger.entries
    .filter((entry) => entry.retryOf !== undefined && isByStore(entry) && entry.decision?.allowed === false)
    .filter(({ host }) => host.drift >= 0)
    .filter(({ host, retryOf }) => host.drift === 0 || retryOf?.answeredAt !== retryOf?.calledAt)
    .filter((entry) => isAlone(entry, entry.retryOf as Entry, ledger))
    .map(({ key, cost, host, calledAt, retryOf }) => {
      const waited = retryOf?.decision?.retryAfterMs
      return `consume ${cost} of ${key} in ${host.name} was denied at ${calledAt} µs, after the wait of ${waited} ms`
    })
}

function isAlone(entry: Entry, first: Entry, { entries, losses, lostEffects, steps }: Ledger): boolean {
  const { server, name, answeredAt = Number.POSITIVE_INFINITY } = entry
  const isSince = ({ at }: { readonly at: number }): boolean => at >= first.calledAt && at <= answeredAt
  if (losses.some(isSince) || steps.some(isSince)) return false
  if (lostEffects.some((effect) => effect.how === 'again' && effect.name === name && isSince(effect))) return false
  return !entries.some((other) => {
    if (other === entry || other === first || other.server !== server || other.name !== name) return false
    // A reservation may be charged more when it is settled.
    if ((other.refundedAt ?? 0) >= first.calledAt - 1e6) return true
    // What has failed, was decided without the store, or whose process has ended before its answer may be executed later.
    if (!isByStore(other)) return other.calledAt <= answeredAt
    const isOver = (other.answeredAt ?? answeredAt) < first.calledAt || other.calledAt > answeredAt
    return !isOver && other.verb !== 'peek' && !(other.verb === 'consume' && !other.decision?.allowed)
  })
}
