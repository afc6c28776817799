import type { BucketQuota, Micros, State } from '@spillway/core'
import { type Entry, isByStore, type Ledger, nameOf } from '../ledger.ts'
import type { RedisServer } from '../redis/server.ts'
import type { Simulation } from '../simulation.ts'
import { keysOf } from './admission.ts'

/**
 * After all has ended, a key has consumed what its callers may use: no less, or units were refunded
 * twice; no more, or units are lost that no caller uses. Checked if no unit is back by then. What may differ is
 *
 * - takes whose replies a broken connection or the end of a process has lost, and refunds that were not executed, were
 *   executed again, were lost with the last writes in a failover, or are of takes from before a clock was set back;
 * - what `'allow'` has allowed, which may be consumed or not;
 * - with leases, what could not be returned: units of which other processes have consumed later ones.
 */
export function nothingIsLost(simulation: Simulation): readonly string[] {
  const { ledger, setting, servers } = simulation
  if (!setting.isSlow) return []
  const problems: string[] = []
  for (const server of servers) {
    for (const key of keysOf(ledger, server)) {
      const entries = ledger.entries.filter((entry) => entry.server === server && entry.key === key)
      const used = usedOf(server.read(nameOf(key)), server.now(), setting.quota)
      const kept = sum(entries.filter(isByStore).map((each) => each.kept))
      const lost = lostOf(ledger, server, key, entries, setting)
      const isReset = entries.some(({ verb }) => verb === 'reset') || hasLost(ledger, server, key)
      const refunds = sum(entries.filter(({ verb }) => verb === 'refund').map(({ cost }) => cost))
      if (!isReset && used < Math.min(kept, kept - refunds - lost.less) - 1)
        problems.push(
          `${key} has consumed ${used} units of ${server.name}, and callers may use ${kept} (${refunds} refunded, ${lost.less} lost)`,
        )
      if (
        setting.lease === undefined &&
        !hasHadDebt(ledger, server, key, setting.quota) &&
        used > kept + lost.more + 1e-3
      )
        problems.push(
          `${key} has consumed ${used} units of ${server.name}, and callers may use only ${kept} (${lost.more} lost)`,
        )
    }
  }
  return problems
}

function usedOf(state: State | undefined, now: Micros, { ticksPerUnit, scale }: BucketQuota): number {
  if (state === undefined) return 0
  const [tat, early] =
    typeof state === 'number' ? [state, 0] : [(state as { tat: number }).tat, (state as { early?: number }).early ?? 0]
  return Math.max(((Math.abs(tat) - now) * scale - early) / ticksPerUnit, 0)
}

/** A debt has no turn: a refund of a request before it may return nothing. */
const hasHadDebt = ({ writes }: Ledger, server: RedisServer, key: string, quota: BucketQuota): boolean =>
  writes.some(
    ({ server: of, name, state, clock }) =>
      of === server && name === nameOf(key) && usedOf(state, clock, quota) > quota.limit + 0.5,
  )

const hasLost = ({ losses, steps }: Ledger, server: RedisServer, key: string): boolean =>
  losses.some(({ server: of, name }) => of === server && (name ?? nameOf(key)) === nameOf(key)) ||
  steps.some(({ of }) => of === server)

function lostOf(
  ledger: Ledger,
  server: RedisServer,
  key: string,
  entries: readonly Entry[],
  { quota }: Simulation['setting'],
): { readonly more: number; readonly less: number } {
  const isOfKey = (each: { readonly server: RedisServer; readonly name: string | undefined }): boolean =>
    each.server === server && each.name === nameOf(key)
  const units = (ticks: number): number => (Math.abs(ticks) * quota.scale) / quota.ticksPerUnit
  const effects = ledger.lostEffects.filter(isOfKey)
  const again = effects.filter(({ how, ticks }) => how === 'again' && ticks < 0)
  // A take that no process knows of, and a refund that was not made.
  const lost = effects.filter(({ how, ticks }) => how === (ticks > 0 ? 'unknown' : 'never'))
  const steppedBack = Math.max(
    ...ledger.steps.filter(({ of, micros }) => of === server && micros < 0).map(({ at }) => at),
  )
  return {
    more:
      sum(lost.map(({ ticks }) => units(ticks))) +
      sum(ledger.losses.filter(isOfKey).map(({ refunds }) => units(refunds))) +
      sum(entries.map((entry) => unreturnedOf(entry, ledger, steppedBack))),
    less: sum(again.map(({ ticks }) => units(ticks))),
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** Units of a call that may remain consumed though no caller uses them. */
function unreturnedOf(entry: Entry, { killed }: Ledger, steppedBack: number): number {
  const { host, decision, calledAt, cost, kept, answeredAt, refundedAt } = entry
  if (decision?.degraded?.action === 'allow') return cost
  // What a killed process had not received, or had not refunded yet.
  if (killed.has(host) && (answeredAt === undefined || refundedAt !== undefined || kept === 0)) return cost
  // A refund of a take from before the server's clock was set back may return nothing.
  return steppedBack >= calledAt ? Math.max(cost - kept, 0) : 0
}
