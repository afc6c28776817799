import { type Booking, giveBack, settleAt } from '../booking.ts'
import type { Decision } from '../decision.ts'
import { QuotaError, shown } from '../errors.ts'
import type { Awaitable, MaybePromise } from '../maybe-promise.ts'
import type { Ask } from '../policy.ts'
import { checkActual } from '../reservation.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { type Rule, shadowOf } from './rule.ts'

/** The decision about a request, as handlers read it. */
export interface RequestDecision<Name extends string = string> extends Decision<Name> {
  /**
   * Corrects the units that the request consumed to `actual`, 0 or more: the rest is refunded, or more is charged. Only
   * the first correction of a policy counts, whether by this method, `refundIf` or `settle`. Name the policy if there
   * are several; a shadow policy is corrected only by its name. Rejects with a QuotaError if `actual` is invalid or the
   * policy is unknown.
   */
  settle(actual: number, policy?: Name): Promise<void>
}

/** A decision as handlers read it. */
export function toldOf(decision: Decision, settle: RequestDecision['settle']): RequestDecision {
  if (decision.degraded || decision.policies || decision.spilled) return { ...decision, settle }
  // Written out: spreading a decision costs more than making one.
  const { allowed, policy, limit, remaining, cost, violated } = decision
  const { retryAfterMs, resetAfterMs, replenishAfterMs, delayMs } = decision
  return {
    allowed,
    policy,
    limit,
    remaining,
    cost,
    retryAfterMs,
    resetAfterMs,
    replenishAfterMs,
    delayMs,
    violated,
    settle,
  }
}

/** Corrects the units that a request consumed, once per policy. */
export interface Settlement<S> {
  readonly byHand: RequestDecision['settle']
  /** Call it when the response has been sent, or the client has disconnected. */
  readonly after: (status: number, response: S) => Promise<void>
  /** Refunds everything, if the handler never answered the request. */
  readonly discard: () => void
}

/** Options that correct a request's cost by its response. */
export interface SettleOptions {
  /**
   * Returns, for a response status, whether the request's units are refunded: `(status) => status >= 500`.
   * @default never
   */
  readonly refundIf?: (status: number) => Awaitable<boolean>
}

/** The options that corrections need besides the acquisitions. */
interface Corrections {
  readonly refundIf: ((status: number) => MaybePromise<boolean>) | undefined
  readonly logger: Logger
}

/** Settles what was acquired of the enforced policies, if any, and of the shadow policies. */
export function settlementOf<R, S>(
  enforced: Booking | undefined,
  shadows: readonly MaybePromise<Booking | undefined>[],
  settleOf: (ask: Ask) => Rule<R, S>['settle'],
  { refundIf, logger }: Corrections,
): Settlement<S> {
  const corrected: Ask[] = []
  const booked = async (): Promise<readonly Booking[]> =>
    [enforced, ...(await Promise.all(shadows))].filter((booking) => booking !== undefined)
  const correct = async (bookings: readonly Booking[], actual: ReadonlyMap<Ask, number>): Promise<void> => {
    const due = new Map([...actual].filter(([ask]) => !corrected.includes(ask)))
    corrected.push(...due.keys())
    await Promise.all(bookings.map((booking) => settleAt(booking, (ask) => due.get(ask) ?? ask.cost)))
  }
  return {
    byHand: async (actual, policy) => {
      checkActual(actual)
      const bookings = await booked()
      await correct(bookings, new Map([[askNamed(policy, enforced, bookings), actual]]))
    },
    after: async (status, response) => {
      try {
        const bookings = await booked()
        const refunded = await refundIf?.(status)
        const actual = new Map<Ask, number>()
        for (const ask of bookings.flatMap(({ asks }) => asks)) {
          if (!corrected.includes(ask))
            actual.set(ask, refunded ? 0 : await actualCost(ask, settleOf(ask), response, logger))
        }
        await correct(bookings, actual)
      } catch (error) {
        warnOfFailure(logger, error)
      }
    },
    discard: () => {
      const giveAllBack = async (): Promise<void> => {
        const bookings = await booked()
        corrected.push(...bookings.flatMap(({ asks }) => asks))
        await Promise.all(bookings.map(giveBack))
      }
      giveAllBack().catch((error) => warnOfFailure(logger, error))
    },
  }
}

/** The actual cost that a policy reads from a response; the consumed units if `settle` throws. */
async function actualCost<S>(
  { cost }: Ask,
  settle: Rule<unknown, S>['settle'],
  response: S,
  logger: Logger,
): Promise<number> {
  try {
    return settle === undefined ? cost : await settle(response)
  } catch (error) {
    warnOfFailure(logger, error)
    return cost
  }
}

/** The response has been sent, so a failure can only be logged. */
function warnOfFailure(logger: Logger, error: unknown): void {
  const why = error instanceof Error ? error.message : shown(error)
  warnOnce(logger, 'WARN_SPILLWAY_SETTLE', 'the cost of a request could not be corrected: ', why)
}

/** Whether this is the policy named, or consumed in its place. */
const paysFor = ({ policy: { name }, emptied = [] }: Ask, named: string): boolean =>
  name === named || name === shadowOf(named) || emptied.some(({ ask }) => ask.policy.name === named)

function askNamed(policy: string | undefined, enforced: Booking | undefined, bookings: readonly Booking[]): Ask {
  const asks = bookings.flatMap(({ asks }) => asks)
  const [only, ...others] = enforced?.asks ?? []
  const named = policy === undefined ? only : asks.find((ask) => paysFor(ask, policy))
  if (named !== undefined && (policy !== undefined || others.length === 0)) return named
  const names = asks.map(({ policy }) => shown(policy.name)).join(', ')
  throw new QuotaError('ERR_SPILLWAY_OPTION', `settle(actual, policy) must name one of ${names}; got ${shown(policy)}.`)
}
