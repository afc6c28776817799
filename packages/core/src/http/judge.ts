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

/** What an adapter is to do with a request. */
export interface Verdict<S = unknown> {
  /** What handlers are told, unless the request was not counted. */
  readonly decision: RequestDecision | undefined
  /** To be set on the response, whatever becomes of the request. */
  readonly headers: readonly Header[]
  /** What to answer instead of passing the request on, unless `answer` says otherwise; undefined lets it pass. */
  readonly refusal: Refusal | undefined
  /**
   * Asks `onDenied`, where there is one, what to answer: to be called when the headers are set, with the framework's
   * own response. Undefined if it has answered by itself.
   */
  readonly answer: ((response: unknown) => MaybePromise<Refusal | undefined>) | undefined
  /** To be called when the response has gone out, where anything depends on it. */
  readonly after: Settlement<S>['after'] | undefined
  /**
   * Gives back what the request took. To be called, and nothing else done, where the response is over when the verdict
   * arrives: something else has answered, or the client is gone.
   */
  readonly discard: () => void
}

/** What concerns all requests, whichever rules are in force. */
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

// Nobody is there to read it: the client has gone away meanwhile.
export const GONE: Verdict = Object.freeze({
  ...PASS,
  refusal: Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' }),
})

/** Judges requests by the rules given, from first to last: a request under way keeps its rules when others come. */
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
    // Whatever a policy decides has a rule.
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
    // Few requests are corrected: what would do that is made when it is asked for.
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

  // Nothing is left to be done later where it can be done now: what a request carries along is made for each.
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
