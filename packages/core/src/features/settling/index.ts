import { checked } from '../../common/maybe-promise.ts'
import { checkBoolean, checkFunctions } from '../../common/options.ts'
import type { Decision } from '../../decisions/decision.ts'
import { withCalls } from '../../http/pipeline/calls.ts'
import type { Feature, Seams, Setup } from '../../http/pipeline/seams.ts'
import { CLOSED, type Draft, PASS } from '../../http/pipeline/verdict.ts'
import { checkCounts, checkFlag, checkReturnedActual } from '../../http/requests/returned.ts'
import { isPreflight, type Refunds, refundsPreflights } from './preflight.ts'
import {
  type RefundOptions,
  requestDecisionOf,
  type Settlement,
  type SettleOptions,
  type SettlingPolicy,
  settlementOf,
} from './settlement.ts'
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

/** `refundIf`, `countIf`, `settle` and `countPreflight`: what a response shows about the cost of its request. */
export const settling: Feature = {
  name: 'settling',
  options: ['countPreflight', 'refundIf'],
  policyOptions: ['settle', 'countIf'],
  layers: { store: withCalls, policy, verdict },
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

/** How the costs of requests are corrected. */
interface Corrections {
  readonly refundIf: Refunds | undefined
  /** Whether responses may correct the cost. */
  readonly corrects: boolean
}

/** Builds what finds the corrections of a request: those of a preflight are others. */
function correctionsFor<R, S>(
  policies: readonly SettlingPolicy<R, S>[],
  { options, reader }: Setup<R, S>,
): (request: R) => Corrections {
  const { refundIf: statuses, countPreflight } = options as RefundOptions & PreflightOptions
  const refundIf = statusTest('refundIf', statuses, checkFlag('refundIf'))
  const corrects = refundIf !== undefined || policies.some(({ settle, countIf }) => settle ?? countIf)
  const ofAll = { refundIf, corrects }
  const ofPreflight = { refundIf: refundsPreflights(reader, refundIf), corrects: true }
  if (checkBoolean('countPreflight', countPreflight)) return () => ofAll
  return (request) => (isPreflight(reader, request) ? ofPreflight : ofAll)
}

/** The verdict, with what corrects the cost of its request. */
function verdict<R, S>(next: Seams<R, S>['verdict']): Seams<R, S>['verdict'] {
  return (policies, setup) => {
    const judge = next(policies, setup)
    const { logger } = setup
    const correctionsOf = correctionsFor(policies, setup)
    return (parts, acquisition, names): Draft<S> => {
      const draft = judge(parts, acquisition, names)
      const { request } = parts
      const beside = parts.beside as Beside
      const { decision } = draft
      const isCounted = decision !== undefined && acquisition !== undefined && acquisition !== CLOSED
      if (!isCounted && beside.length === 0) return draft
      const { refundIf, corrects } = correctionsOf(request)
      if (isCounted) return settled(draft, decision, new Later(acquisition, beside, refundIf, logger), corrects)
      return besideOnly(draft, settlementOf(undefined, beside, refundIf, logger), corrects)
    }
  }
}

/** The acquisitions of shadow policies. */
type Beside = Parameters<typeof settlementOf>[1]

/** A settlement that is made when it is needed: few requests are corrected. */
class Later<S> {
  readonly #of: Parameters<typeof settlementOf>
  #made: Settlement<S> | undefined

  constructor(...of: Parameters<typeof settlementOf>) {
    this.#of = of
  }

  get settlement(): Settlement<S> {
    this.#made ??= settlementOf(...this.#of)
    return this.#made
  }
}

/** The verdict about a request that was counted. */
function settled<S>(draft: Draft<S>, decision: Decision, later: Later<S>, corrects: boolean): Draft<S> {
  draft.decision = requestDecisionOf(decision, (actual, policy) => later.settlement.settle(actual, policy))
  if (decision.allowed && corrects) draft.after = later.settlement.after
  draft.discard = () => later.settlement.discard()
  return draft
}

/** The verdict about a request that only shadow policies have counted. If its client has left, nothing reads it. */
function besideOnly<S>(draft: Draft<S>, { after, discard }: Settlement<S>, corrects: boolean): Draft<S> {
  if (draft.denial === undefined) return { ...PASS, after: corrects ? after : undefined, discard }
  discard()
  return draft
}
