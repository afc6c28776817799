import type { Entry } from '../ledger.ts'
import { PostgresServer } from '../postgres/server.ts'
import type { Fault } from '../scenario.ts'
import type { Simulation } from '../simulation.ts'
import { isAbort } from './answers.ts'

/** Faults that the store has no part in. */
const OUR_OWN: readonly string[] = ['stalled event loop', 'paused process', 'wall clock step', 'server clock step']

const STALLS: readonly string[] = ['stalled event loop', 'paused process']

/**
 * If only processes stand still, and the network is fast, the store has answered in time: no call fails or is counted without
 * it. A deadline is extended by a stall once: calls during which a process stands still twice are not checked. Nor are calls
 * of PostgreSQL, which may wait for a connection to be opened or to become free, and for several statements before them; also as
 * one of two stores of a call; nor, with leases, calls during a stall, who may have waited for one and need another call.
 */
export function stallsAreNoFailures({ ledger, setting, servers, faults }: Simulation): readonly string[] {
  const isFast = setting.baseMicros + 10 * setting.jitterMicros < 5_000 && setting.deadlineMs >= 50
  if (!isFast || faults.some(({ kind }) => !OUR_OWN.includes(kind))) return []
  const most = setting.lease === undefined ? 1 : 0
  const stalls = spansOf(faults.filter(({ kind }) => STALLS.includes(kind)))
  const stallsIn = ({ calledAt, answeredAt = 0 }: Entry): number =>
    stalls.filter(({ at, end }) => at <= answeredAt && end + ONE_STALL >= calledAt).length
  return ledger.entries
    .filter(({ decision, error }) => decision?.degraded || (error && !decision && !isAbort(error)))
    .filter((entry) => stallsIn(entry) <= most && !(entry.verb === 'both' ? servers : [entry.server]).some(isPostgres))
    .map(
      ({ verb, host, calledAt }) => `${verb} in ${host.name}, called at ${calledAt} µs, was answered without the store`,
    )
}

const isPostgres = (server: unknown): boolean => server instanceof PostgresServer

interface Span {
  readonly at: number
  end: number
}

/** Stalls that overlap come one after the other, in any order. */
function spansOf(stalls: readonly Fault[]): readonly Span[] {
  const spans: Span[] = []
  for (const { at, micros } of stalls) {
    const chained = spans.filter(({ end }) => end >= at)
    const end = Math.max(at, ...chained.map((each) => each.end)) + micros
    for (const each of chained) each.end = end
    spans.push({ at, end })
  }
  return spans
}

/** One stall may begin when another ends. */
const ONE_STALL = 1_000_000
