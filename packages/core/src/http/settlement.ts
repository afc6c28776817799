import { type Booking, settleAt } from '../booking.ts'
import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import { checkActual } from '../reservation.ts'
import { warnOnce } from '../warn.ts'
import type { Rule } from './rule.ts'

/** What handlers are told of a request. */
export interface RequestDecision<Name extends string = string> extends Decision<Name> {
  /**
   * Corrects what the request took to what it really cost: 0 gives all back, more than was taken is charged. The
   * first correction counts, this one or the options' `refundIf` and `settle`. Name the policy if there are several.
   */
  settle(actual: number, policy?: Name): Promise<void>
}

/** Corrects, once, what a request has taken. */
export interface Settlement<S> {
  readonly byHand: RequestDecision['settle']
  /** To be called when the response has gone out, or the client has gone away. */
  readonly after: (status: number, response: S) => Promise<void>
}

/** What a request's response may say about its cost. */
export interface SettleOptions {
  /** Statuses whose requests are given back in full: `(status) => status >= 500`. */
  readonly refundIf?: (status: number) => boolean
}

export function settlementOf<R, S>(
  booking: Booking,
  rules: readonly Rule<R, S>[],
  refundIf: SettleOptions['refundIf'],
): Settlement<S> {
  let settled: Promise<void> | undefined
  return {
    byHand: async (actual, policy) => {
      const name = policyNamed(booking, policy)
      checkActual(actual)
      settled ??= settleAt(booking, (ask) => (ask.policy.name === name ? actual : ask.cost))
      return settled
    },
    after: async (status, response) => {
      if (settled !== undefined) return
      try {
        const actual = refundIf?.(status) ? undefined : await actualCosts(rules, response)
        settled ??= settleAt(booking, (ask) => (actual ? (actual.get(ask.policy.name) ?? ask.cost) : 0))
        await settled
      } catch (error) {
        // The response has gone out: there is nobody left to tell but the developer.
        warnOnce(`what a request took could not be corrected: ${error instanceof Error ? error.message : shown(error)}`)
      }
    },
  }
}

async function actualCosts<R, S>(rules: readonly Rule<R, S>[], response: S): Promise<ReadonlyMap<string, number>> {
  const actual = new Map<string, number>()
  for (const { name, settle } of rules) if (settle) actual.set(name, checkActual(await settle(response)))
  return actual
}

function policyNamed({ asks }: Booking, policy: string | undefined): string {
  const names = asks.map((ask) => ask.policy.name)
  const name = policy ?? (names.length === 1 ? names[0] : undefined)
  if (name !== undefined && names.includes(name)) return name
  throw new QuotaError(
    'ERR_SPILLWAY_OPTION',
    `settle(actual, policy) must name one of ${names.map(shown).join(', ')}; got ${shown(policy)}.`,
  )
}
