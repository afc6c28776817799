import { runKernel, stepFor } from '@spillway/core/internal'
import { type Entry, isByStore, nameOf, type Write } from '../ledger.ts'
import { START } from '../runtime/world.ts'
import type { Simulation } from '../simulation.ts'

/**
 * A request is denied by the store only if the units were not there at some time while it was asked. A deny cache may deny
 * for its time what another process has refunded or reset since.
 */
export function denialsAreTrue({ ledger, setting }: Simulation): readonly string[] {
  const { entries, losses, steps } = ledger
  const writes = writesByKey(ledger.writes)
  const isCounted = (entry: Entry): boolean =>
    entry.verb === 'consume' && entry.decision?.allowed === false && isByStore(entry)
  const isUntrue = (entry: Entry): boolean => {
    const { server, key, cost, calledAt, answeredAt = 0 } = entry
    const from = calledAt - STALE - (isChangedUnseen(entries, entry) ? denyMicros(setting) : 0)
    // What a lost state or a clock that was set had denied may be cached.
    if ([...losses, ...steps].some(({ at }) => at >= from - 1e7)) return false
    if (setting.lease !== undefined && isPromised(entries, entry)) return false
    return !wasDenied(writes.get(`${server.name} ${nameOf(key)}`) ?? [], setting.quota, cost, from, answeredAt)
  }
  return entries
    .filter(isCounted)
    .filter(isUntrue)
    .map(({ cost, key, host, answeredAt }) => {
      return `consume ${cost} of ${key} in ${host.name} was denied at ${answeredAt} µs, and its units were there`
    })
}

/** The estimate of the server's clock is late by the time that an answer takes, at most. */
const STALE = 10_000

const denyMicros = ({ denyCache }: Simulation['setting']): number =>
  denyCache === false ? 0 : Number.parseInt(denyCache, 10) * 1_020_000

function writesByKey(writes: readonly Write[]): ReadonlyMap<string, readonly Write[]> {
  const found = new Map<string, Write[]>()
  for (const write of writes) {
    const id = `${write.server.name} ${write.name}`
    const known = found.get(id)
    if (known) known.push(write)
    else found.set(id, [write])
  }
  return found
}

/** Whether the server would have denied a cost at some time in a span: it has fewest units at its start or after a write. */
function wasDenied(
  writes: readonly Write[],
  quota: Simulation['setting']['quota'],
  cost: number,
  from: number,
  to: number,
): boolean {
  const step = stepFor(quota, 'peek', cost)
  const before = writes.findLast(({ at }) => at <= from)
  if (!runKernel(before?.state, START + from, step).allowed) return true
  return writes.some(({ at, state, clock }) => at > from && at <= to && !runKernel(state, clock, step).allowed)
}

/** With leases, units are promised to requests that the store is asked for next. */
const isPromised = (entries: readonly Entry[], entry: Entry): boolean => {
  const { host, key, calledAt, answeredAt = 0 } = entry
  const others = entries.filter((other) => other !== entry && other.host === host && other.key === key)
  return others.some((other) => {
    const isUnderWay = other.calledAt <= answeredAt && (other.answeredAt ?? answeredAt) >= calledAt
    // A request that has failed may be asked for later.
    return isUnderWay || (!isByStore(other) && other.verb !== 'reset' && Math.abs(other.calledAt - calledAt) < 1e6)
  })
}

/** Whether another process may have changed the key, or this one has and does not know yet. */
const isChangedUnseen = (entries: readonly Entry[], { host, server, key, calledAt, answeredAt = 0 }: Entry): boolean =>
  entries.some((other) => {
    if (other.server !== server || other.key !== key || other.calledAt > answeredAt) return false
    const hasFailed = !isByStore(other) && other.verb !== 'reset'
    if (hasFailed || (other.refundedAt ?? 0) >= calledAt - 1e6) return true
    if (!CHANGES.includes(other.verb)) return false
    return other.host !== host || other.error !== undefined || (other.answeredAt ?? calledAt) >= calledAt
  })

const CHANGES: readonly string[] = ['refund', 'reset', 'reserve', 'wait', 'both', 'charge', 'upTo']
