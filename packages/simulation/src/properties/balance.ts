import type { BucketQuota, Micros, State } from '@spillway/core'
import { type Entry, isByStore, type Ledger } from '../ledger.ts'
import { PostgresServer } from '../postgres/server.ts'
import type { Simulation } from '../simulation.ts'
import type { StateServer } from '../state-server.ts'
import { isAbort } from './answers.ts'
import { entriesOf } from './states.ts'

/**
 * After all has ended, a key has consumed what its callers may use: no less, or units were refunded
 * twice; no more, or units are lost that no caller uses. Checked if no unit is back by then. What may differ is
 *
 * - takes whose replies a broken connection or the end of a process has lost, and refunds and charges that were not executed,
 *   were executed again, were lost with the last writes in a failover, or are of takes from before a clock was set back;
 * - what `'allow'` has allowed, which may be consumed or not;
 * - with leases, what could not be returned: units of which other processes have consumed later ones.
 */
export function nothingIsLost(simulation: Simulation): readonly string[] {
  const { ledger, setting, servers } = simulation
  const { quota } = setting
  if (!setting.isSlow || quota.kernel !== 'bucket') return []
  // A state does not tell by which of several quotas its units were consumed.
  const isOfOneQuota = (entries: readonly Entry[]): boolean => entries.every((entry) => entry.quota === quota)
  return servers.flatMap((server) =>
    [...entriesOf(ledger, server)].flatMap(([name, entries]) =>
      isOfOneQuota(entries) ? lossesOf(simulation, quota, server, name, entries) : [],
    ),
  )
}

function lossesOf(
  { ledger, setting }: Simulation,
  quota: BucketQuota,
  server: StateServer,
  name: string,
  entries: readonly Entry[],
): readonly string[] {
  const used = usedOf(server.read(name), server.now(), quota)
  const kept = sum(entries.filter(isByStore).map((each) => each.kept))
  const { more, less } = lostOf(ledger, server, name, entries, quota)
  const isReset = entries.some(({ verb }) => verb === 'reset') || hasLost(ledger, server, name)
  const refunds = sum(entries.filter(({ verb }) => verb === 'refund').map(({ cost }) => cost))
  const found = `${name} has consumed ${used} units of ${server.name}, and callers may use`
  if (!isReset && used < Math.min(kept, kept - refunds - less) - 1)
    return [`${found} ${kept} (${refunds} refunded, ${less} lost)`]
  // A pool has several connections, and a statement that is retried comes later.
  const queue = setting.connections === 1 && !(server instanceof PostgresServer) ? entries : []
  const isExact = setting.lease === undefined && !hasHadDebt(ledger, server, name, quota, queue)
  return isExact && used > kept + more + 1e-3 ? [`${found} only ${kept} (${more} lost)`] : []
}

/** The units of a state that have not refilled. */
export function usedOf(state: State | undefined, now: Micros, { ticksPerUnit, scale }: BucketQuota): number {
  if (state === undefined) return 0
  const [tat, early] =
    typeof state === 'number' ? [state, 0] : [(state as { tat: number }).tat, (state as { early?: number }).early ?? 0]
  return Math.max(((Math.abs(tat) - now) * scale - early) / ticksPerUnit, 0)
}

/**
 * A debt has no turn: a refund of a request before it may return nothing. A caller that leaves a queue returns its turn if all
 * turns are of one connection and one cost, and no call for another turn is under way.
 */
const hasHadDebt = (
  { writes }: Ledger,
  server: StateServer,
  key: string,
  quota: BucketQuota,
  entries: readonly Entry[],
): boolean =>
  !isOneQueue(entries) &&
  writes.some(
    ({ server: of, name, state, clock }) =>
      of === server && name === key && usedOf(state, clock, quota) > quota.limit + 0.5,
  )

function isOneQueue(entries: readonly Entry[]): boolean {
  const waits = entries.filter(({ verb }) => verb === 'wait')
  const queues = new Set(waits.map(({ host, handle, cost }) => `${host.name} ${handle} ${cost}`))
  const isAnswered = (entry: Entry): boolean => isByStore(entry) || (entry.verb === 'wait' && isAbort(entry.error))
  const joined = Math.max(...waits.map(({ calledAt }) => calledAt)) + UNDER_WAY
  const areApart = waits.every(({ error, answeredAt = joined }) => !isAbort(error) || answeredAt >= joined)
  return queues.size === 1 && areApart && entries.every((entry) => QUEUE.includes(entry.verb) && isAnswered(entry))
}

/** How long a call for a turn is under way, at most. */
const UNDER_WAY = 250_000

const QUEUE: readonly string[] = ['consume', 'peek', 'wait', 'release']

const hasLost = ({ losses, steps }: Ledger, server: StateServer, key: string): boolean =>
  losses.some(({ server: of, name }) => of === server && (name ?? key) === key) || steps.some(({ of }) => of === server)

function lostOf(
  ledger: Ledger,
  server: StateServer,
  key: string,
  entries: readonly Entry[],
  quota: BucketQuota,
): { readonly more: number; readonly less: number } {
  const isOfKey = (each: { readonly server: StateServer; readonly name: string | undefined }): boolean =>
    each.server === server && each.name === key
  const units = (ticks: number): number => (Math.abs(ticks) * quota.scale) / quota.ticksPerUnit
  const effects = ledger.lostEffects.filter(isOfKey)
  const again = effects.filter(({ how, ticks }) => how === 'again' && ticks < 0)
  // A killed process reports no lost reply: what it has sent again may have been executed each time.
  const unreported = ledger.killed.size > 0 ? effects.filter(({ how, ticks }) => how === 'again' && ticks > 0) : []
  // A take that no process knows of, and a refund that was not made.
  const lost = effects.filter(({ how, ticks }) => how === (ticks > 0 ? 'unknown' : 'never'))
  const steppedBack = Math.max(
    ...ledger.steps.filter(({ of, micros }) => of === server && micros < 0).map(({ at }) => at),
  )
  return {
    more:
      sum([...lost, ...unreported].map(({ ticks }) => units(ticks))) +
      sum(ledger.losses.filter(isOfKey).map(({ refunds }) => units(refunds))) +
      sum(entries.map((entry) => unreturnedOf(entry, ledger, steppedBack))),
    // What a killed process had not charged yet.
    less:
      sum(again.map(({ ticks }) => units(ticks))) +
      sum(entries.filter(({ host }) => ledger.killed.has(host)).map(({ kept, cost }) => Math.max(kept - cost, 0))),
  }
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** How long after it a refund of a call is sent: a late answer comes within two deadlines of the store. */
const REFUND_MICROS = 3_000_000

/** Units of a call that may remain consumed though no caller uses them. */
function unreturnedOf(entry: Entry, { killed, unopened }: Ledger, steppedBack: number): number {
  const { host, server, decision, calledAt, cost, kept, answeredAt, refundedAt } = entry
  // What is allowed without the store may be settled at more than its cost.
  if (decision?.degraded?.action === 'allow') return Math.max(cost, kept)
  // What a killed process had not received, or had not refunded yet, also what it has counted itself.
  const isOwed = answeredAt === undefined || refundedAt !== undefined || kept === 0 || !isByStore(entry)
  if (killed.has(host) && isOwed) return cost
  // A refund for which no connection can be opened is not sent again.
  const since = refundedAt ?? answeredAt ?? 0
  const isUnsent = unopened.some(
    (each) => each.host === host && each.server === server && each.at >= since && each.at <= since + REFUND_MICROS,
  )
  if (isUnsent && (refundedAt !== undefined || !isByStore(entry))) return cost
  // A refund of a take from before the server's clock was set back may return nothing.
  return steppedBack >= calledAt ? Math.max(cost - kept, 0) : 0
}
