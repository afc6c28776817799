import { type Entry, isByStore } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { denyMicros } from './denials.ts'

/**
 * A client that waits as long as its denial says is admitted, if no other caller uses the key meanwhile, no clock is set
 * or slow, and no state is lost. With leases, other stores may hold its units. A denial by a deny cache, which is one of the same
 * tick, is as old as the cache keeps denials, and says a wait that is too short by a fast clock.
 */
export function waitsAreLongEnough(simulation: Simulation): readonly string[] {
  const { ledger, setting, processes, faults } = simulation
  const holders = processes.length * setting.handles
  if (setting.lease !== undefined && holders > 1) return []
  // Of a bucket only, the ledger knows what a command that is sent again has consumed twice.
  if (setting.resends && faults.length > 0 && setting.quota.kernel !== 'bucket') return []
  return ledger.entries
    .filter((entry) => entry.retryOf !== undefined && isByStore(entry) && entry.decision?.allowed === false)
    .filter(({ host }) => host.drift >= 0)
    .filter(({ host, retryOf }) => host.drift === 0 || !isCached(retryOf as Entry))
    .filter((entry) => isAlone(entry, entry.retryOf as Entry, simulation))
    .map(({ key, cost, host, calledAt, retryOf }) => {
      const waited = retryOf?.decision?.retryAfterMs
      return `consume ${cost} of ${key} in ${host.name} was denied at ${calledAt} µs, after the wait of ${waited} ms`
    })
}

const isCached = ({ calledAt, answeredAt }: Entry): boolean => answeredAt === calledAt

function isAlone(entry: Entry, first: Entry, { ledger, setting }: Simulation): boolean {
  const { entries, losses, lostEffects, steps } = ledger
  const { server, name, answeredAt = Number.POSITIVE_INFINITY } = entry
  const from = first.calledAt - (isCached(first) ? denyMicros(setting) : 0)
  const isSince = ({ at }: { readonly at: number }): boolean => at >= from && at <= answeredAt
  if (losses.some(isSince) || steps.some(isSince)) return false
  if (lostEffects.some((effect) => effect.how === 'again' && effect.name === name && isSince(effect))) return false
  return !entries.some((other) => {
    if (other === entry || other === first || other.server !== server || other.name !== name) return false
    // A reservation may be charged more when it is settled.
    if ((other.refundedAt ?? 0) >= from - 1e6) return true
    // What has failed, was decided without the store, or whose process has ended before its answer may be executed later.
    if (!isByStore(other)) return other.calledAt <= answeredAt
    const isOver = (other.answeredAt ?? answeredAt) < from || other.calledAt > answeredAt
    return !isOver && other.verb !== 'peek' && !(other.verb === 'consume' && !other.decision?.allowed)
  })
}
