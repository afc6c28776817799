import type { Effect } from '../batches.ts'
import type { Entry, Sent } from '../ledger.ts'
import { PostgresServer } from '../postgres/server.ts'
import type { Simulation } from '../simulation.ts'
import { isAbort } from './answers.ts'
import { groupBy } from './groups.ts'

/**
 * A command that only consumes units is sent only while a caller waits for it: a call whose deadline has passed has been
 * reported as failed, and what it consumes would have to be refunded. Charges are not checked, because a reservation may be
 * settled at more, nor calls whose caller leaves before the deadline.
 */
export function expiredCallsAreNotSent({ ledger }: Simulation): readonly string[] {
  const waiting = groupBy(ledger.entries, ({ name }) => name)
  const isAwaited = ({ host, server, at }: Sent, { name }: Effect): boolean =>
    (waiting.get(name) ?? []).some(
      (entry) => entry.host === host && entry.server === server && entry.calledAt <= at && at <= waitsUntil(entry),
    )
  return ledger.sent
    .filter(({ intents }) => intents.length > 0 && intents.every(consumes))
    .filter((sent) => !sent.intents.some((intent) => isAwaited(sent, intent)))
    .map(({ at, host, server, intents }) => {
      const names = intents.map(({ name }) => name).join(', ')
      return `${host.name} sent a call for ${names} to ${server.name} at ${at} µs, and no caller waited for it`
    })
}

const consumes = ({ ticks, step: { check } }: Effect): boolean => ticks > 0 && check > 0

/** Timers are whole milliseconds: a call may fail by less than one before its deadline. */
const EARLY_MICROS = 1_020
/** A timer drops a call of PostgreSQL that waits for a key in use. Until it runs, the call may be sent. */
const LATE_MICROS = 1_020

const waitsUntil = ({ answeredAt = Number.POSITIVE_INFINITY, error, calledAt, mayLast, server }: Entry): number =>
  Math.max(
    answeredAt + EARLY_MICROS + (server instanceof PostgresServer ? LATE_MICROS : 0),
    isAbort(error) ? calledAt + mayLast : 0,
  )
