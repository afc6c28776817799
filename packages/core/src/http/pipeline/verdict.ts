import type { Decision } from '../../algorithms/decision.ts'
import { NONE } from '../../algorithms/decision-of.ts'
import type { MaybePromise } from '../../common/maybe-promise.ts'
import type { Header } from '../headers/headers.ts'
import type { Denial } from '../headers/problem.ts'

/** The decision about a request, as handlers read it. */
export interface RequestDecision<Name extends string = string> extends Decision<Name> {
  /**
   * Corrects the units that the request consumed to `actual`, 0 or more: the rest is refunded, or more is charged. Only
   * the first correction of a policy counts, whether by this method, `refundIf`, `countIf` or `settle`. Name the policy
   * if there are several; a shadow policy is corrected only by its name. A policy with slots is never corrected. Rejects with
   * a QuotaError if `actual` is invalid or the policy is unknown.
   */
  settle(actual: number, policy?: Name): Promise<void>
}

/** What knows the decisions about requests. */
export interface DecisionReader<R, Name extends string = string> {
  /** This limiter's decision about a request, with its policy names as types; undefined if the request was not counted. */
  decisionOf(request: R): RequestDecision<Name> | undefined
}

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
  /**
   * Call it when the response has been sent, or the client has disconnected: without a status, if it was not answered
   * before. The request then counts, because its client could otherwise choose that it does not. Of an upgrade, with the
   * status 101, `settle` of the options is called when its connection has `ended`; never, if the runtime does not report it.
   * Undefined if there is nothing to settle.
   */
  readonly after: ((status: number | undefined, response: S, ended?: Promise<void>) => Promise<void>) | undefined
  /**
   * Refunds the request's units. If the response is over when the verdict arrives (another handler has answered, or the
   * client has disconnected), call this and do nothing else.
   */
  readonly discard: () => void
}

/** A verdict that features complete before the adapter gets it. */
export type Draft<S> = { -readonly [Name in keyof Verdict<S>]: Verdict<S>[Name] }

/** In place of an acquisition: the client has left before its turn. */
export const CLOSED = 'closed'
/** The type of `CLOSED`. */
export type Closed = typeof CLOSED

/** The verdict about a request that is not counted. */
export const PASS: Verdict = /* @__PURE__ */ Object.freeze({
  decision: undefined,
  headers: NONE,
  denial: undefined,
  answer: undefined,
  after: undefined,
  discard: () => {},
})

/** The verdict about a request whose response is over, because another handler has answered or the client has disconnected. */
export const CLIENT_CLOSED: Verdict = /* @__PURE__ */ closed()

function closed(): Verdict {
  const denial = Object.freeze({ status: 499, contentType: 'text/plain', headers: [], body: '' })
  return Object.freeze({ ...PASS, denial })
}
