import { type Entry, isByStore, type Ledger } from '../ledger.ts'
import type { RedisServer } from '../redis/server.ts'
import type { Simulation } from '../simulation.ts'
import { allowanceOf } from './allowance.ts'
import { rateOf } from './rates.ts'
import { type Admission, overfullSpan } from './spans.ts'

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
  const { burst, refill } = rateOf(quota)
  const ticksPerUnit = quota.kernel === 'bucket' ? quota.ticksPerUnit / quota.scale : 1
  const held = lease === undefined ? 0 : (quota.limit / 2) * (processes * handles - 1)
  const problems: string[] = []
  for (const server of servers) {
    for (const state of namesOf(ledger, server)) {
      const losses = ledger.losses.filter(({ server: of, name }) => of === server && (name ?? state) === state)
      const deleted = ledger.writes.filter(
        (write) => write.server === server && write.name === state && write.state === undefined,
      )
      const resent = ledger.lostEffects
        .filter(({ server: of, name, how, ticks }) => of === server && name === state && how === 'again' && ticks < 0)
        .map(({ at, ticks }) => ({ at, units: -ticks / ticksPerUnit }))
      const ofKey = ledger.entries.filter((entry) => entry.server === server && entry.name === state)
      const allowance = allowanceOf(ofKey, { burst, losses, deleted, resent, held })
      const found = overfullSpan(
        admissionsOf(ofKey),
        (from, to) => refill(forward(ledger, server, from, to)) + allowance(from, to),
      )
      if (found)
        problems.push(`${server.name} admitted ${found.units} units of ${state} from ${found.from} to ${found.to} µs`)
    }
  }
  return problems
}

/** The names of the states that callers have used in a server. */
export const namesOf = ({ entries }: Ledger, server: RedisServer): ReadonlySet<string> =>
  new Set(entries.filter((entry) => entry.server === server).map(({ name }) => name))

const TURNS: readonly string[] = ['consume', 'request', 'reserve', 'wait', 'upTo', 'both']

const admissionsOf = (entries: readonly Entry[]): readonly Admission[] =>
  entries
    .filter(({ verb }) => TURNS.includes(verb))
    .filter((entry) => isByStore(entry) && entry.kept > 0)
    .map(({ calledAt, turnAt, kept, cost }) => ({ from: calledAt, to: turnAt, units: Math.min(kept, cost) }))
