import { type Booking, put } from '../booking.ts'
import type { Decision } from '../decision.ts'
import { withoutLink } from '../errors.ts'
import { andThen, type MaybePromise } from '../maybe-promise.ts'
import { type Ask, queues } from '../policy.ts'
import type { Micros } from '../time.ts'
import { type Logger, warnOnce } from '../warn.ts'
import { type Asks, asksOf } from './asks.ts'
import { answerOf, type DeniedOption } from './denied.ts'
import type { Reporter } from './events.ts'
import type { Header } from './headers.ts'
import { hold } from './hold.ts'
import type { Refusal } from './problem.ts'
import type { RequestReader } from './reader.ts'
import type { Rule } from './rule.ts'
import { type RequestDecision, type Settlement, settlementOf, toldOf } from './settlement.ts'
import type { ShownNames } from './shown-names.ts'
import type { ClaimsOf } from './sources.ts'
import type { Teller } from './teller.ts'
import { whileConnected } from './while-connected.ts'

/** The instructions to an adapter for one request. */
export interface Verdict<S = unknown> {
  /** The decision that handlers read; undefined if the request was not counted. */
  readonly decision: RequestDecision | undefined
  /** Headers to set on the response, whether or not the request is allowed. */
  readonly headers: readonly Header[]
  /**
   * The answer to send instead of calling the handler, unless `answer` is defined; undefined if the request is allowed.
   */
  readonly refusal: Refusal | undefined
  /**
   * Calls `onDenied`, if there is one, and returns the answer to send. Call it after setting the headers, with the
   * framework's response. It returns undefined if `onDenied` has answered itself.
   */
  readonly answer: ((response: unknown) => MaybePromise<Refusal | undefined>) | undefined
  /** Call it when the response has been sent; undefined if there is nothing to settle. */
  readonly after: Settlement<S>['after'] | undefined
  /**
   * Refunds the request's units. If the response is over when the verdict arrives (another handler has answered, or the
   * client has disconnected), call this and do nothing else.
   */
  readonly discard: () => void
}

/** The configuration that does not depend on the policies. */
export interface Procedure<R> {
  readonly reader: RequestReader<R>
  readonly patience: Micros
  readonly onDenied: DeniedOption<R, never> | undefined
  readonly refundIf: ((status: number) => MaybePromise<boolean>) | undefined
  readonly report: Reporter<R>
  readonly tell: Teller
  readonly logger: Logger
}

export const PASS: Verdict = Object.freeze({
  decision: undefined,
  headers: Object.freeze([]),
  refusal: undefined,
  answer: undefined,
  after: undefined,
  discard: () => {},
})

// The client has disconnected: nothing reads this response.
export const GONE: Verdict = Object.freeze({
  ...PASS,
  refusal: Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' }),
})

/** Builds the evaluator of these policies. A request in progress keeps its policies when they are replaced. */
export function judgeBy<R, S>(
  rules: readonly Rule<R, S>[],
  procedure: Procedure<R>,
): (request: R, claims: ClaimsOf, names?: ShownNames) => MaybePromise<Verdict<S>> {
  const { reader, patience, onDenied, refundIf, report, tell, logger } = procedure
  const ruleNamed = (name: string): Rule<R, S> | undefined => rules.find((rule) => rule.name === name)
  const settleOf = ({ policy }: Ask): Rule<R, S>['settle'] => ruleNamed(policy.name)?.settle
  const corrects = refundIf !== undefined || rules.some(({ settle }) => settle)

  const enforce = (request: R, asks: readonly Ask[]): Booking | Promise<Booking | undefined> =>
    patience > 0 || asks.some(queues) ? hold(asks, patience, reader, request) : put('consume', asks)

  const watch = (request: R, ask: Ask): MaybePromise<Booking | undefined> => {
    const booking = andThen(put('consume', [ask]), (booking) => {
      report(booking.decision, request, 'shadow')
      return booking
    })
    return booking instanceof Promise ? booking.catch((error) => warnOfShadow(logger, error)) : booking
  }

  const denial = (request: R, decision: Decision, names?: ShownNames): Pick<Verdict, 'refusal' | 'answer'> => {
    // Every decision names a compiled policy.
    const { refuse, onDenied: option = onDenied } = ruleNamed(decision.policy) as Rule<R, S>
    const refusal = refuse(decision, names)
    const ask = option as DeniedOption<R> | undefined
    return { refusal, answer: ask && ((response) => answerOf(ask, request, decision, response, refusal, reader)) }
  }
  const verdict = (
    request: R,
    booking: Booking,
    shadows: readonly MaybePromise<Booking | undefined>[],
    names?: ShownNames,
  ): Verdict<S> => {
    const { decision } = booking
    report(decision, request, 'enforce')
    // Built lazily: few requests are corrected.
    let made: Settlement<S> | undefined
    const settlement = (): Settlement<S> => {
      made ??= settlementOf(booking, shadows, settleOf, procedure)
      return made
    }
    const { refusal, answer } = decision.allowed ? PASS : denial(request, decision, names)
    return {
      decision: toldOf(decision, (actual, policy) => settlement().byHand(actual, policy)),
      headers: tell(booking, names),
      refusal,
      answer,
      after: decision.allowed && corrects ? settlement().after : undefined,
      discard: () => settlement().discard(),
    }
  }

  // Synchronous wherever possible: every closure and object here is allocated per request.
  const judge = (request: R, { enforced, shadowed }: Asks, names?: ShownNames): MaybePromise<Verdict<S>> => {
    const shadows = shadowed.length > 0 ? shadowed.map((ask) => watch(request, ask)) : NONE
    if (enforced.length > 0) {
      const booking = enforce(request, enforced)
      if (!(booking instanceof Promise)) return verdict(request, booking, shadows, names)
      return booking.then((known) => (known ? verdict(request, known, shadows, names) : GONE))
    }
    if (shadows.length === 0) return PASS
    const { after, discard } = settlementOf(undefined, shadows, settleOf, procedure)
    return { ...PASS, after: corrects ? after : undefined, discard }
  }
  return (request, claims, names) => {
    const asks = asksOf(rules, request, claims)
    if (!(asks instanceof Promise)) return judge(request, asks, names)
    return whileConnected(reader, request, asks).then((known) => (known ? judge(request, known, names) : GONE))
  }
}

const NONE: readonly never[] = Object.freeze([])

function warnOfShadow(logger: Logger, error: Error): undefined {
  warnOnce(
    logger,
    'WARN_SPILLWAY_SHADOW',
    'a shadow policy failed; requests are not affected: ',
    withoutLink(error.message),
  )
}
