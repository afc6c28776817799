import { divideQuota, type Quota } from '@spillway/core'
import type { Entry } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { forward } from './admission.ts'
import { allowanceOf } from './allowance.ts'
import { groupBy } from './groups.ts'
import { rateOf } from './rates.ts'
import { overfullSpan } from './spans.ts'

/** While the store does not answer, each process admits no more than its share of the quota. */
export function processesAdmitNoMore({ ledger, setting }: Simulation): readonly string[] {
  const { quota, replicas } = setting
  const shareOf = sharesFor(replicas)
  const { burst, refill } = rateOf(shareOf(quota))
  const problems: string[] = []
  for (const [name, entries] of ofStates(ledger.entries)) {
    const [{ host }] = entries as [Entry]
    // Shares are rounded: those of quotas that refill in the same time may differ in theirs.
    const local = entries.map((entry) => ({ ...entry, quota: shareOf(entry.quota) }))
    const allowance = allowanceOf(local, { burst, losses: [], resent: [], refundsLate: false, lease: 0, others: 0 })
    const admissions = entries
      .filter(({ decision, kept, verb }) => decision?.degraded?.action === 'local' && kept > 0 && verb !== 'charge')
      .map(({ calledAt, turnAt, kept, cost }) => ({ from: calledAt, to: turnAt, units: Math.min(kept, cost) }))
    const found = overfullSpan(
      admissions,
      (from, to) => burst + allowance(from, to) + refill(forward(ledger, host, from, to) * 1.02 + 1_000),
    )
    if (found) problems.push(`${name} admitted ${found.units} units by itself from ${found.from} to ${found.to} µs`)
  }
  return problems
}

/** The share of each quota that one process enforces. */
function sharesFor(replicas: number): (quota: Quota) => Quota {
  const shares = new Map<Quota, Quota>()
  return (quota) => {
    const share = shares.get(quota) ?? (replicas === 1 ? quota : divideQuota(quota, { replicas }))
    shares.set(quota, share)
    return share
  }
}

/** The entries of each state in a process: stores of one process count by themselves. */
function ofStates(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  const hosts = [...new Set(entries.map(({ host }) => host))]
  return groupBy(entries, ({ host, handle, server, name }) => {
    return `${host.name} (${hosts.indexOf(host)}), store ${handle} of ${server.name}, ${name}`
  })
}
