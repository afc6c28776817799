import type { State } from '@spillway/core'
import { type Entry, isByStore } from './ledger.ts'
import type { Scenario } from './scenario.ts'
import type { Simulation } from './simulation.ts'

const answerOf = ({ answeredAt, decision, error, kept, refundedAt, turnAt }: Entry): string => {
  if (answeredAt === undefined) return 'no answer'
  const how = decision?.degraded ? ` (${decision.degraded.reason}: ${decision.degraded.action})` : ''
  const said = decision
    ? `${decision.allowed ? 'allowed' : 'denied'}${how}, ${decision.remaining} left`
    : String(error ?? 'done')
  const later = refundedAt === undefined ? '' : `, settled at ${refundedAt}`
  return `${answeredAt} ${said.slice(0, 100)}, keeps ${kept}, turn at ${turnAt}${later}`
}

const EFFECTS = { unknown: 'LOST the reply to', again: 'AGAIN', never: 'NOT executed:' }

const unitOf = ({ quota }: Scenario['setting']): number =>
  quota.kernel === 'bucket' ? quota.ticksPerUnit / quota.scale : 1

/** Peeks that the store answers show nothing that the writes do not. */
const isOfNote = (entry: Entry): boolean => entry.verb !== 'peek' || !isByStore(entry)

/** A run in the order of its times, one line each, in microseconds since the start. */
export function traceOf({ acts, faults, setting }: Scenario, { ledger }: Simulation): readonly string[] {
  const lines = [
    ...ledger.entries.filter(isOfNote).map((entry) => {
      const { calledAt, verb, cost, key, host, handle, server } = entry
      const where = `${host.name}, store ${handle} of ${server.name}`
      return { at: calledAt, text: `${verb} ${cost} of ${key} in ${where} → ${answerOf(entry)}` }
    }),
    ...faults.map(({ at, kind, micros, size, target }) => ({
      at,
      text: `FAULT ${kind} for ${micros} µs, size ${size.toFixed(3)}, target ${target}`,
    })),
    ...ledger.writes.map(({ at, server, name, state, clock }) => ({
      at,
      text: `  ${server.name} writes ${name}: ${stateOf(state, clock, unitOf(setting))}`,
    })),
    ...ledger.lostEffects
      .filter(({ ticks }) => ticks !== 0)
      .map(({ at, how, server, name, ticks }) => ({
        at,
        text: `  ${EFFECTS[how]} ${(ticks / unitOf(setting)).toFixed(3)} units of ${name} in ${server.name}`,
      })),
  ]
  const sorted = lines.sort((a, b) => a.at - b.at).map(({ at, text }) => `${at} ${text}`)
  return [JSON.stringify({ ...setting, acts: acts.length }), ...sorted]
}

function stateOf(state: State | undefined, clock: number, unit: number): string {
  if (state === undefined) return 'deleted'
  const tat = typeof state === 'number' ? state : 'tat' in state ? state.tat : undefined
  const rest = typeof state === 'number' ? '' : JSON.stringify(state)
  return tat === undefined ? rest : `${((Math.abs(tat) - clock) / unit).toFixed(3)} units consumed ${rest}`
}
