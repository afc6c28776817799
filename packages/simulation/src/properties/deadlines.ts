import type { Effect } from '../batches.ts'
import type { Entry, Sent } from '../ledger.ts'
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

/**
 * Timers are whole milliseconds, and clocks drift. One fails a call, by less than a millisecond before its deadline. Another
 * drops a call of PostgreSQL that waits for a key in use, by less than a millisecond after it: until then it may be sent.
 */
const TIMERS_MICROS = 2 * 1_020

const waitsUntil = ({ answeredAt = Number.POSITIVE_INFINITY, error, calledAt, mayLast }: Entry): number =>
  Math.max(answeredAt + TIMERS_MICROS, isAbort(error) ? calledAt + mayLast : 0)
