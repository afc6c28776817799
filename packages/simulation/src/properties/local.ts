import { divideQuota } from '@spillway/core'
import type { Entry } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { forward } from './admission.ts'
import { allowanceOf } from './allowance.ts'
import { rateOf } from './rates.ts'
import { overfullSpan } from './spans.ts'

/** While the store does not answer, each process admits no more than its share of the quota. */
export function processesAdmitNoMore({ ledger, setting }: Simulation): readonly string[] {
  const { quota, replicas } = setting
  const { burst, refill } = rateOf(replicas === 1 ? quota : divideQuota(quota, { replicas }))
  const problems: string[] = []
  for (const [name, entries] of grouped(ledger.entries)) {
    const [{ host }] = entries as [Entry]
    const allowance = allowanceOf(entries, { burst, losses: [], resent: [], lease: 0, others: 0 })
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

/** The entries of each state in a process: stores of one process count by themselves. */
function grouped(entries: readonly Entry[]): ReadonlyMap<string, Entry[]> {
  const hosts = new Map<object, number>()
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const index = hosts.get(entry.host) ?? hosts.size
    hosts.set(entry.host, index)
    const name = `${entry.host.name} (${index}), store ${entry.handle} of ${entry.server.name}, ${entry.name}`
    const group = groups.get(name)
    if (group) group.push(entry)
    else groups.set(name, [entry])
  }
  return groups
}
