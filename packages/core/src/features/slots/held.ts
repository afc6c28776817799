import type { SlotsQuota } from '../../algorithms/quota-types.ts'
import type { SlotsTaken } from '../../algorithms/slots/slots-step.ts'
import { callersOf, whileHeld } from '../../limiter/callers.ts'
import { settle } from '../../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../../policies/policy.ts'
import { type Holding, renewUntil } from './heartbeat.ts'

/** The slots of an acquisition, held until they are released. */
export interface Held {
  /** Releases them, once: later calls change nothing. Callers in line of this process acquire in their order then. */
  release(): Promise<void>
  /** Stops renewing them: something else refunds the acquisition. */
  abandon(): void
}

export const isSlots = ({ policy: { quota } }: Pick<PolicyCheck, 'policy'>): boolean => quota.kernel === 'slots'

/** Renews the slots that an acquisition has taken, until they are released. `onLost` is called if the store has given them up. */
export function hold(acquisition: Acquisition, onLost: (check: PolicyCheck) => void): Held {
  const checks = acquisition.decision.allowed ? acquisition.checks.filter(isSlots) : []
  if (checks.length === 0) return HELD_NOTHING
  // What was counted without the store is renewed nowhere.
  const stops = acquisition.results.flatMap(({ checks, taken }) =>
    checks.flatMap((check, i) => {
      const one = taken[i]
      return one !== undefined && isSlots(check) ? renewUntil(holdingOf(check, one as SlotsTaken, onLost)) : []
    }),
  )
  const abandon = (): void => {
    for (const stop of stops) stop()
  }
  let released: Promise<void> | undefined
  return {
    abandon,
    release() {
      released ??= whileHeld(
        callersOf(checks),
        () => {
          abandon()
          return settle(acquisition, (check) => (isSlots(check) ? 0 : check.cost))
        },
        true,
        // A store that fails has reported it, and gives the slots up by itself.
      ).catch(() => {})
      return released
    },
  }
}

const HELD_NOTHING: Held = { release: async () => {}, abandon: () => {} }

const holdingOf = (check: PolicyCheck, taken: SlotsTaken, onLost: (check: PolicyCheck) => void): Holding => ({
  check,
  quota: check.policy.quota as SlotsQuota,
  taken,
  onLost: () => onLost(check),
})
