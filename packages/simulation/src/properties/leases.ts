import type { BucketQuota } from '@spillway/core'
import type { Entry } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { sum, usedOf } from './balance.ts'
import { clockOf, entriesOf, statesAt, writesOf } from './states.ts'

/**
 * A release returns all that has not been spent, also of a lease that is being taken. Checked if one store alone uses the keys,
 * makes no other calls meanwhile, and is always answered.
 */
export function releasesReturnLeases({ ledger, setting, servers, faults }: Simulation): readonly string[] {
  const { lease, isSlow, processes, handles, connections, quota, postgres } = setting
  const keepsOrder = (postgres?.pool ?? 1) === 1
  const isAlone = processes === 1 && handles === 1 && connections === 1
  if (lease === undefined || !isSlow || !isAlone || faults.length > 0) return []
  const writes = writesOf(ledger)
  return servers.flatMap((server) =>
    [...entriesOf(ledger, server)].flatMap(([name, entries]) => {
      const releases = ledger.releases.filter((each) => each.server === server)
      return releases.flatMap(({ calledAt, endedAt = Number.POSITIVE_INFINITY }) => {
        // A lease that was being taken is returned after the answers to those who wait for it.
        const answers = entries.filter((entry) => entry.calledAt <= calledAt).map(answeredAt)
        const at = Math.max(endedAt, ...answers)
        const before = entries.filter((entry) => entry.calledAt <= at)
        // Over several connections, a call may be executed after a lease that is asked for later.
        if (!keepsOrder && areAtOnce(before)) return []
        if (!before.every((entry) => isPlain(entry) && entry.calledAt <= calledAt)) return []
        const [state] = statesAt(writes(server, name), at).slice(-1)
        const used = usedOf(state, clockOf(ledger, server, at), quota as BucketQuota)
        const kept = sum(before.map((entry) => entry.kept))
        return used > kept + 1e-3
          ? [`a release, called at ${calledAt} µs, left ${used} units of ${name} in use, and callers have ${kept}`]
          : []
      })
    }),
  )
}

const isPlain = ({ verb, decision }: Entry): boolean =>
  (verb === 'consume' || verb === 'peek') && decision !== undefined && decision.degraded === undefined

/** Whether one of these calls, in the order in which they were made, was made while another was under way. */
const areAtOnce = (entries: readonly Entry[]): boolean =>
  entries.some((entry, i) => entries.slice(i + 1).some(({ calledAt }) => calledAt < answeredAt(entry)))

const answeredAt = ({ answeredAt = Number.POSITIVE_INFINITY }: Entry): number => answeredAt
