import { acquire } from '../../checks/acquisition.ts'
import { formatThrown, withoutLink } from '../../common/errors.ts'
import { andThen, caught, failing, type MaybePromise } from '../../common/maybe-promise.ts'
import type { Micros } from '../../common/time.ts'
import { type Logger, warnOnce } from '../../common/warn.ts'
import { type Decision, NONE } from '../../decisions/decision.ts'
import type { Acquisition } from '../../policies/policy.ts'
import { isQueued, type PolicyCheck } from '../../policies/policy.ts'
import { lookupActionOf } from '../../quotas/degraded-quota.ts'
import { answerOf, type DeniedOption } from '../headers/denied.ts'
import type { ShownNames } from '../headers/display-names.ts'
import type { Header } from '../headers/headers.ts'
import type { Denial } from '../headers/problem.ts'
import type { CompiledPolicy } from '../policies/compile-policy.ts'
import { delayRequest } from '../requests/delay-request.ts'
import type { RequestParts } from '../requests/parts.ts'
import { isPreflight, type Refunds, refundsPreflights } from '../requests/preflight.ts'
import type { RequestReader } from '../requests/reader.ts'
import { whileConnected } from '../requests/while-connected.ts'
import type { Reporter } from './events.ts'
import type { HeaderBuilder } from './header-builder.ts'
import { blockListsOf, checkNamed, enforcedChecksOf, type HttpCheck, shadowChecksOf } from './policy-checks.ts'
import { type RequestDecision, requestDecisionOf, type Settlement, settlementOf } from './settlement.ts'

/** The instructions to an adapter for one request. */
export interface Verdict<S = unknown> {
  /** The decision that handlers read; undefined if the request was not counted. */
  readonly decision: RequestDecision | undefined
  /** Headers to set on the response, whether or not the request is allowed. */
  readonly headers: readonly Header[]
  /**
   * The answer to send instead of calling the handler, unless `answer` is defined; undefined if the request is allowed.
   */
  readonly denial: Denial | undefined
  /**
   * Calls `onDenied`, if there is one, and returns the answer to send. Call it after setting the headers, with the
   * framework's response. It returns undefined if `onDenied` has answered itself.
   */
  readonly answer: ((response: unknown) => MaybePromise<Denial | undefined>) | undefined
  /** Call it when the response has been sent; undefined if there is nothing to settle. */
  readonly after: Settlement<S>['after'] | undefined
  /**
   * Refunds the request's units. If the response is over when the verdict arrives (another handler has answered, or the
   * client has disconnected), call this and do nothing else.
   */
  readonly discard: () => void
}

/** The configuration that does not depend on the policies. */
export interface EvaluatorConfig<R> {
  readonly reader: RequestReader<R>
  readonly maxWaitMicros: Micros
  readonly onDenied: DeniedOption<R, never> | undefined
  readonly refundIf: Refunds | undefined
  readonly countsPreflight: boolean
  readonly report: Reporter<R>
  readonly buildHeaders: HeaderBuilder
  readonly logger: Logger
}

export const PASS: Verdict = /* @__PURE__ */ Object.freeze({
  decision: undefined,
  headers: NONE,
  denial: undefined,
  answer: undefined,
  after: undefined,
  discard: () => {},
})

// The client has disconnected: nothing reads this response.
export const CLIENT_CLOSED: Verdict = /* @__PURE__ */ closed()

function closed(): Verdict {
  const denial = Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' })
  return Object.freeze({ ...PASS, denial })
}

/** Builds the evaluator of these policies. A request in progress keeps its policies when they are replaced. */
export function evaluatorFor<R, S>(
  compiledPolicies: readonly CompiledPolicy<R, S>[],
  config: EvaluatorConfig<R>,
): (parts: RequestParts<R>, names?: ShownNames) => MaybePromise<Verdict<S>> {
  const { reader, maxWaitMicros, onDenied, refundIf, report, buildHeaders, logger } = config
  const checksFor = enforcedChecksOf(compiledPolicies)
  const shadowChecks = shadowChecksOf(compiledPolicies)
  const answer = failing(answerOf<R, unknown>)
  const looksUp = compiledPolicies.some(({ registration }) => registration.quota === undefined)
  const corrects = refundIf !== undefined || compiledPolicies.some(({ settle, countIf }) => settle ?? countIf)
  const corrections = { refundIf, corrects, logger }
  const ofPreflight = { refundIf: refundsPreflights(reader, refundIf), corrects: true, logger }
  const correctionsOf = (request: R): typeof corrections =>
    config.countsPreflight || !isPreflight(reader, request) ? corrections : ofPreflight

  const enforce = (request: R, checks: readonly PolicyCheck[]): Acquisition | Promise<Acquisition | undefined> =>
    maxWaitMicros > 0 || checks.some(isQueued)
      ? delayRequest(checks, maxWaitMicros, reader, request)
      : acquire('consume', checks)

  const shadowFailed = (thrown: unknown): undefined => warnOfShadow(logger, thrown)
  // The request neither waits for a shadow policy nor fails with it.
  const watch = (parts: RequestParts<R>): readonly MaybePromise<Acquisition | undefined>[] =>
    shadowChecks
      .map((checkFor) => caught(() => andThen(checkFor(parts), (check) => consume(parts.request, check)), shadowFailed))
      .filter((shadow) => shadow !== undefined)
  const consume = (request: R, check: HttpCheck<R, S> | undefined): MaybePromise<Acquisition | undefined> =>
    check &&
    andThen(acquire('consume', [check, ...blockListsOf([check])]), (acquisition) => {
      report(acquisition.decision, check.key, request, 'shadow')
      return acquisition
    })

  const denialOf = (
    request: R,
    acquisition: Acquisition,
    decision: Decision,
    names?: ShownNames,
  ): Pick<Verdict, 'denial' | 'answer'> => {
    const { policy, compiled } = checkNamed<R, S>(acquisition, decision.policy)
    const denial = policy.denialFor(decision, names)
    const option = (compiled.onDenied ?? onDenied) as DeniedOption<R> | undefined
    return { denial, answer: option && ((response) => answer(option, request, decision, response, denial, reader)) }
  }
  const verdict = (
    request: R,
    acquisition: Acquisition,
    shadows: readonly MaybePromise<Acquisition | undefined>[],
    names?: ShownNames,
  ): Verdict<S> => {
    const decision = looksUp ? withLookupFailure(acquisition) : acquisition.decision
    report(decision, checkNamed(acquisition, decision.policy).key, request, 'enforce')
    const corrections = correctionsOf(request)
    // Built lazily: few requests are corrected.
    let made: Settlement<S> | undefined
    const settlement = (): Settlement<S> => {
      made ??= settlementOf(acquisition, shadows, corrections)
      return made
    }
    const { denial, answer } = decision.allowed ? PASS : denialOf(request, acquisition, decision, names)
    return {
      decision: requestDecisionOf(decision, (actual, policy) => settlement().settle(actual, policy)),
      headers: buildHeaders(acquisition, names),
      denial,
      answer,
      after: decision.allowed && corrections.corrects ? settlement().after : undefined,
      discard: () => settlement().discard(),
    }
  }

  // Synchronous wherever possible: every closure and object here is allocated per request.
  const evaluate = (
    parts: RequestParts<R>,
    enforced: readonly HttpCheck<R, S>[],
    names?: ShownNames,
  ): MaybePromise<Verdict<S>> => {
    const { request } = parts
    const shadows = shadowChecks.length > 0 ? watch(parts) : NONE
    if (enforced.length > 0) {
      const acquisition = enforce(request, enforced)
      if (!(acquisition instanceof Promise)) return verdict(request, acquisition, shadows, names)
      return acquisition.then((known) => {
        if (known) return verdict(request, known, shadows, names)
        settlementOf(undefined, shadows, corrections).discard()
        return CLIENT_CLOSED
      })
    }
    if (shadows.length === 0) return PASS
    const own = correctionsOf(request)
    const { after, discard } = settlementOf<S>(undefined, shadows, own)
    return { ...PASS, after: own.corrects ? after : undefined, discard }
  }
  return (parts, names) => {
    const checks = checksFor(parts)
    if (!(checks instanceof Promise)) return evaluate(parts, checks, names)
    return whileConnected(reader, parts.request, checks).then((known) =>
      known ? evaluate(parts, known, names) : CLIENT_CLOSED,
    )
  }
}

/** The decision, with the failure of a lookup that has chosen a quota. A failure of the store is more severe. */
function withLookupFailure({ checks, decision }: Acquisition): Decision {
  if (decision.degraded) return decision
  for (const { policy } of checks) {
    const action = lookupActionOf(policy.quota)
    if (action !== undefined) return { ...decision, degraded: { reason: 'lookup', action } }
  }
  return decision
}

function warnOfShadow(logger: Logger, thrown: unknown): undefined {
  const message = withoutLink(formatThrown(thrown))
  warnOnce(logger, 'WARN_SPILLWAY_SHADOW', 'a shadow policy failed; requests are not affected: ', message)
}
