import type { State } from '@spillway/core'
import { runKernel, stepFor } from '@spillway/core/internal'
import { type Entry, isByStore } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { clockOf, statesAt, writesOf } from './states.ts'

/**
 * A request is denied by the store only if the units were not there at some time while it was asked. A deny cache may deny
 * for its time what another process has refunded or reset since, or a lease that it has returned. PostgreSQL decides what
 * waits for a lock by the time at which it arrived.
 */
export function denialsAreTrue({ ledger, setting, faults }: Simulation): readonly string[] {
  const { entries, losses, steps } = ledger
  const writes = writesOf(ledger)
  const areLocked = faults.some(({ kind }) => kind === 'locked rows')
  const isCounted = (entry: Entry): boolean =>
    (entry.verb === 'consume' || entry.verb === 'request') && entry.decision?.allowed === false && isByStore(entry)
  const isUntrue = (entry: Entry): boolean => {
    const { server, name, cost, quota, calledAt, answeredAt = 0 } = entry
    const known = writes(server, name)
    const step = stepFor(quota, 'peek', cost)
    const isDenied = (state: State | undefined, at: number): boolean =>
      !runKernel(state, clockOf(ledger, server, at), step).allowed
    // Most denials are true when they are asked for, which is fast to see.
    if (statesAt(known, calledAt).some((state) => isDenied(state, calledAt))) return false
    // A key has fewest units at the start, after a write, and after its clock was set back.
    const isTrueSince = (from: number): boolean => {
      const isWithin = ({ at }: { readonly at: number }): boolean => at > from && at <= answeredAt
      const moments = [from, ...steps.filter((step) => step.of === server && isWithin(step)).map(({ at }) => at)]
      return (
        moments.some((at) => statesAt(known, at).some((state) => isDenied(state, at))) ||
        known.some(
          ({ state, at }) =>
            isWithin({ at }) && (isDenied(state, at) || (areLocked && at > calledAt && isDenied(state, calledAt))),
        )
      )
    }
    if (isTrueSince(calledAt - denyMicros(setting) * SLOWNESS)) return false
    if (setting.lease !== undefined && isPromised(entries, entry)) return false
    // What a lost state or a clock that was set had denied may be cached.
    const isSince = ({ at }: { readonly at: number }): boolean =>
      at >= calledAt - denyMicros(setting) && at <= answeredAt
    const isShared = setting.lease !== undefined && entries.some((other) => isByOther(other, entry))
    const isOld = losses.some(isSince) || steps.some(isSince) || isShared || isChangedUnseen(entries, entry)
    return !(isOld && isTrueSince(calledAt - denyMicros(setting)))
  }
  return entries
    .filter(isCounted)
    .filter(isUntrue)
    .map(({ cost, key, host, answeredAt }) => {
      return `consume ${cost} of ${key} in ${host.name} was denied at ${answeredAt} µs, and its units were there`
    })
}

/** A clock that is slow by 100 ppm estimates the server's clock late. */
const SLOWNESS = 0.0001

/** How long a deny cache keeps a denial at most, by a clock that is slow. */
export const denyMicros = ({ denyCache }: Simulation['setting']): number =>
  denyCache === false ? 0 : Number.parseInt(denyCache, 10) * 1_020_000

/** With leases, units are promised to requests that the store is asked for next. */
const isPromised = (entries: readonly Entry[], entry: Entry): boolean => {
  const { host, name, calledAt, answeredAt = 0 } = entry
  const others = entries.filter((other) => other !== entry && other.host === host && other.name === name)
  return others.some((other) => {
    const isUnderWay = other.calledAt <= answeredAt && (other.answeredAt ?? answeredAt) >= calledAt
    // A request that has failed may be asked for later.
    return isUnderWay || (!isByStore(other) && other.verb !== 'reset' && Math.abs(other.calledAt - calledAt) < 1e6)
  })
}

/** Whether another process, or another store of this one, has used the key: it may have returned a lease. */
const isByOther = (other: Entry, { host, handle, server, name, answeredAt = 0 }: Entry): boolean =>
  other.server === server &&
  other.name === name &&
  other.calledAt <= answeredAt &&
  (other.host !== host || other.handle !== handle)

/** Whether another process may have changed the key, or this one has and does not know yet. */
const isChangedUnseen = (entries: readonly Entry[], { host, server, name, calledAt, answeredAt = 0 }: Entry): boolean =>
  entries.some((other) => {
    if (other.server !== server || other.name !== name || other.calledAt > answeredAt) return false
    const hasFailed = !isByStore(other) && other.verb !== 'reset'
    if (hasFailed || (other.refundedAt ?? 0) >= calledAt - 1e6) return true
    if (!CHANGES.includes(other.verb)) return false
    return other.host !== host || other.error !== undefined || (other.answeredAt ?? calledAt) >= calledAt
  })

const CHANGES: readonly string[] = ['refund', 'reset', 'request', 'reserve', 'wait', 'both', 'charge', 'upTo']
