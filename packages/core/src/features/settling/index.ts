import { checked } from '../../common/maybe-promise.ts'
import { checkBoolean, checkFunctions } from '../../common/options.ts'
import { withCalls } from '../../http/pipeline/calls.ts'
import { problemTypes } from '../../http/pipeline/problem-types.ts'
import type { Feature, OptionTypes, Seams } from '../../http/pipeline/seams.ts'
import { CLOSED, type Draft, PASS } from '../../http/pipeline/verdict.ts'
import type { RequestParts } from '../../http/requests/parts.ts'
import { checkCounts, checkFlag, checkReturnedActual } from '../../http/requests/returned.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { isPreflight, refundsPreflights } from './preflight.ts'
import type { RefundOptions, Settlement, SettleOptions, SettlingPolicy } from './settle-options.ts'
import { requestDecisionOf, settlementOf } from './settlement.ts'
import { statusTest } from './status-test.ts'

/** The option for preflights. */
export interface PreflightOptions {
  /**
   * Counts every CORS preflight: an `OPTIONS` request without a body that carries `Origin` and `Access-Control-Request-Method`. By
   * default, one is refunded that is answered with 404, 405 or `Access-Control-Allow-Methods`.
   * @default `false`
   */
  readonly countPreflight?: boolean
}

/** The types of its options. */
export interface SettlingTypes extends OptionTypes {
  readonly limiter: RefundOptions & PreflightOptions
  readonly policy: SettleOptions<this['response']>
}

/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature<SettlingTypes> = {
  name: 'settling',
  options: ['countPreflight', 'refundIf'],
  policyOptions: ['settle', 'countIf'],
  refunds: true,
  layers: { store: withCalls, policy, denial: problemTypes, verdict },
}

function policy<R, S>(next: Seams<R, S>['policy']): Seams<R, S>['policy'] {
  return (options, building) => {
    const { settle, countIf } = options as SettleOptions<S>
    checkFunctions(options as SettleOptions<S>, ['settle'])
    const compiled = next(options, building)
    if (settle === undefined && countIf === undefined) return compiled
    const settled: SettlingPolicy<R, S> = {
      ...compiled,
      settle: settle && checked(settle, checkReturnedActual),
      countIf: statusTest('countIf', countIf, checkCounts),
    }
    return settled
  }
}

/** The verdict, with what corrects the cost of its request. */
function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const judge = next(policies, setup)
    const { reader, logger } = setup
    const { refundIf: statuses, countPreflight } = setup.options as RefundOptions & PreflightOptions
    const refundIf = statusTest('refundIf', statuses, checkFlag('refundIf'))
    const refundsPreflight = refundsPreflights(reader, refundIf)
    const isFree = checkBoolean('countPreflight', countPreflight) ? undefined : isPreflight
    const corrects = refundIf !== undefined || policies.some(isCorrected)
    // It is made when it is needed: few requests are corrected.
    const settlementFor = (parts: RequestParts<R>, acquisition?: Acquisition): Settlement<S> =>
      parts.once('settlement', (request) =>
        settlementOf(
          acquisition,
          parts.beside as Beside,
          isFree?.(reader, request) ? refundsPreflight : refundIf,
          logger,
        ),
      )
    return (parts, acquisition): Draft<S> => {
      const draft = judge(parts, acquisition)
      const { decision } = draft
      if (decision === undefined || acquisition === undefined || acquisition === CLOSED) {
        if (parts.beside.length === 0) return draft
        return besideOnly(draft, settlementFor(parts), corrects || isFree?.(reader, parts.request) === true)
      }
      draft.decision = requestDecisionOf(decision, (actual, policy) =>
        settlementFor(parts, acquisition).settle(actual, policy),
      )
      draft.discard = () => settlementFor(parts, acquisition).discard()
      if (decision.allowed && (corrects || isFree?.(reader, parts.request)))
        draft.after = settlementFor(parts, acquisition).after
      return draft
    }
  }
}

const isCorrected = <R, S>({ settle, countIf }: SettlingPolicy<R, S>): boolean => (settle ?? countIf) !== undefined

/** The acquisitions of shadow policies. */
type Beside = Parameters<typeof settlementOf>[1]

/** The verdict about a request that only shadow policies have counted. If its client has left, nothing reads it. */
function besideOnly<S>(draft: Draft<S>, { after, discard }: Settlement<S>, corrects: boolean): Draft<S> {
  if (draft.denial === undefined) return { ...PASS, after: corrects ? after : undefined, discard }
  discard()
  return draft
}
