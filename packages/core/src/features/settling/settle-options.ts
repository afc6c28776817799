import type { Awaitable, MaybePromise } from '../../common/maybe-promise.ts'
import type { CompiledPolicy } from '../../http/pipeline/compiled.ts'
import type { RequestDecision, Verdict } from '../../http/pipeline/verdict.ts'
import type { Statuses } from './status-test.ts'

/** Corrects the units that a request consumed, once per policy. */
export interface Settlement<S> {
  /** `settle` of the decision that handlers read. */
  readonly settle: RequestDecision['settle']
  /** Settles by the response. */
  readonly after: NonNullable<Verdict<S>['after']>
  /** Refunds everything, if the handler never answered the request. */
  readonly discard: () => void
}

/** The option of all policies that corrects a request's cost by its response. */
export interface RefundOptions {
  /**
   * The response statuses that refund the request's units, such as `[502, 503]`, or a function of the status:
   * `(status) => status >= 500`.
   * @default never
   */
  readonly refundIf?: Statuses
}

/** The options of a policy that correct a request's cost by its response. `S` is the response that `settle` reads. */
export interface SettleOptions<S> {
  /**
   * Returns the actual cost, read from the response. The units consumed are corrected to it: the rest is refunded, or
   * more is charged.
   * @default none
   */
  readonly settle?: (response: S) => Awaitable<number>
  /**
   * The response statuses that count, such as `[401]` for failed logins, or a function of the status. The units are
   * consumed before the handler runs, and refunded if the status does not count. They stay consumed if the client
   * disconnects before it is answered.
   * @default all statuses
   */
  readonly countIf?: Statuses
}

/** A policy whose costs are corrected. */
export interface SettlingPolicy<R, S> extends CompiledPolicy<R, S> {
  readonly settle?: ((response: S) => MaybePromise<number>) | undefined
  readonly countIf?: ((status: number) => MaybePromise<boolean>) | undefined
}
