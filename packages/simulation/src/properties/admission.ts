import { type Entry, isByStore, type Ledger } from '../ledger.ts'
import type { Simulation } from '../simulation.ts'
import { allowanceOf } from './allowance.ts'
import { type Rate, rateOf } from './rates.ts'
import { type Admission, overfullSpan } from './spans.ts'
import { entriesOf } from './states.ts'

/** How far a clock goes in a span of time: what it is set forward counts, what it is set back does not. */
export function forward({ steps }: Ledger, of: object, from: number, to: number): number {
  let micros = to - from
  for (const step of steps)
    if (step.of === of && step.at >= from && step.at <= to && step.micros > 0) micros += step.micros
  return micros
}

const stepsBack = ({ steps }: Ledger, of: object, from: number, to: number): number =>
  steps.filter((step) => step.of === of && step.at >= from && step.at <= to && step.micros < 0).length

/**
 * In no span of time does the store admit more than `burst + rate × t`, besides: one burst for each time that it lost the
 * state or was asked to reset it, the units that it was asked to refund without naming a request, and those that are refunded
 * after one of these and were consumed before it, and those of refunds that the client has sent again. With leases, a refund
 * or reset costs what the other stores hold, once, and a loss what all hold: half of the bucket each. If the server's clock
 * steps forward, units that are held refill before they are spent; if it steps back, an interval may begin once more.
 */
export function storesAdmitNoMore({ ledger, setting, servers }: Simulation): readonly string[] {
  const { quota, lease, processes, handles } = setting
  const { burst } = rateOf(quota)
  const ticksPerUnit = quota.kernel === 'bucket' ? quota.ticksPerUnit / quota.scale : 1
  const leases = { lease: lease === undefined ? 0 : quota.limit / 2, others: processes * handles - 1 }
  const problems: string[] = []
  for (const server of servers) {
    for (const [state, ofKey] of entriesOf(ledger, server)) {
      const losses = ledger.losses.filter(({ server: of, name }) => of === server && (name ?? state) === state)
      const deleted = ledger.writes.filter(
        (write) => write.server === server && write.name === state && write.state === undefined,
      )
      const resent = ledger.lostEffects
        .filter(({ server: of, name, how, ticks }) => of === server && name === state && how === 'again' && ticks < 0)
        .map(({ at, ticks }) => ({ at, units: -ticks / ticksPerUnit }))
      const allowance = allowanceOf(ofKey, { burst, losses, deleted, resent, refundsLate: true, ...leases })
      const admitted = ofKey.filter(isAdmission)
      const rateIn = rateInSpan(admitted)
      const held = leases.lease * (leases.others + 1)
      const found = overfullSpan(admitted.map(admissionOf), (from, to) => {
        const { burst, atOnce = 0, refill } = rateIn(from, to)
        const stepped = held > 0 ? Math.min(refill(forward(ledger, server, 0, from) - from), held) : 0
        const again = atOnce * stepsBack(ledger, server, from, to)
        return burst + refill(forward(ledger, server, from, to)) + again + stepped + allowance(from, to)
      })
      if (found)
        problems.push(`${server.name} admitted ${found.units} units of ${state} from ${found.from} to ${found.to} µs`)
    }
  }
  return problems
}

const TURNS: readonly string[] = ['consume', 'request', 'reserve', 'wait', 'upTo', 'both']

const isAdmission = (entry: Entry): boolean => TURNS.includes(entry.verb) && isByStore(entry) && entry.kept > 0

const admissionOf = ({ calledAt, turnAt, kept, cost }: Entry): Admission => ({
  from: calledAt,
  to: turnAt,
  units: Math.min(kept, cost),
})

/** The most that the quotas admit by which requests were admitted in a span. */
function rateInSpan(admitted: readonly Entry[]): (from: number, to: number) => Rate {
  const rates = new Map(admitted.map(({ quota }) => [quota, rateOf(quota)]))
  const [only] = rates.values()
  if (only !== undefined && rates.size === 1) return () => only
  return (from, to) => {
    const inSpan = admitted.filter(({ calledAt, turnAt }) => calledAt >= from && turnAt <= to)
    const all = inSpan.map(({ quota }) => rates.get(quota) as Rate)
    return {
      burst: Math.max(...all.map(({ burst }) => burst)),
      atOnce: Math.max(...all.map(({ atOnce = 0 }) => atOnce)),
      refill: (micros) => Math.max(...all.map(({ refill }) => refill(micros))),
    }
  }
}
