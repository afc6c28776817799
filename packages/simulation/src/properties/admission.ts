import type { BucketQuota } from '@spillway/core'
import { type Entry, isByStore, type Ledger, nameOf } from '../ledger.ts'
import type { RedisServer } from '../redis/server.ts'
import type { Simulation } from '../simulation.ts'
import { allowanceOf } from './allowance.ts'
import { type Admission, overfullSpan } from './spans.ts'

/** Units that a quota refills in some microseconds. At intervals, one more interval may begin in them. */
export const refillOf = ({ schedule, ticksPerUnit, scale }: BucketQuota, micros: number): number =>
  schedule === null ? (micros * scale) / ticksPerUnit : (Math.floor(micros / schedule.interval) + 1) * schedule.amount

/** How far a clock goes in a span of time: what it is set forward counts, what it is set back does not. */
export function forward({ steps }: Ledger, of: object, from: number, to: number): number {
  let micros = to - from
  for (const step of steps)
    if (step.of === of && step.at >= from && step.at <= to && step.micros > 0) micros += step.micros
  return micros
}

/**
 * In no span of time does the store admit more than `burst + rate × t`, besides: one burst for each time that it lost the
 * state or was asked to reset it, the units that it was asked to refund without naming a request, and those that are refunded
 * after one of these and were consumed before it, and those of refunds that the client has sent again. With leases, a refund or reset costs what the other stores hold, once: half of
 * the bucket each.
 */
export function storesAdmitNoMore({ ledger, setting, servers }: Simulation): readonly string[] {
  const { quota, lease, processes, handles } = setting
  const held = lease === undefined ? 0 : (quota.limit / 2) * (processes * handles - 1)
  const problems: string[] = []
  for (const server of servers) {
    for (const key of keysOf(ledger, server)) {
      const losses = ledger.losses.filter(
        ({ server: of, name }) => of === server && (name ?? nameOf(key)) === nameOf(key),
      )
      const resent = ledger.lostEffects
        .filter(
          ({ server: of, name, how, ticks }) => of === server && name === nameOf(key) && how === 'again' && ticks < 0,
        )
        .map(({ at, ticks }) => ({ at, units: (-ticks * quota.scale) / quota.ticksPerUnit }))
      const ofKey = ledger.entries.filter((entry) => entry.server === server && entry.key === key)
      const allowance = allowanceOf(ofKey, { burst: quota.limit, losses, resent, held })
      const found = overfullSpan(
        admissionsOf(ofKey),
        (from, to) => refillOf(quota, forward(ledger, server, from, to)) + allowance(from, to),
      )
      if (found)
        problems.push(`${server.name} admitted ${found.units} units of ${key} from ${found.from} to ${found.to} µs`)
    }
  }
  return problems
}

export const keysOf = ({ entries }: Ledger, server: RedisServer): ReadonlySet<string> =>
  new Set(entries.filter((entry) => entry.server === server).map(({ key }) => key))

const TURNS: readonly string[] = ['consume', 'reserve', 'wait', 'upTo', 'both']

const admissionsOf = (entries: readonly Entry[]): readonly Admission[] =>
  entries
    .filter(({ verb }) => TURNS.includes(verb))
    .filter((entry) => isByStore(entry) && entry.kept > 0)
    .map(({ calledAt, turnAt, kept, cost }) => ({ from: calledAt, to: turnAt, units: Math.min(kept, cost) }))
