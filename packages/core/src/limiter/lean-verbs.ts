import type { Decision } from '../algorithms/decision.ts'
import { QuotaError } from '../common/errors.ts'
import { checkOptions } from '../common/guess.ts'
import { promised } from '../common/maybe-promise.ts'
import type { Duration } from '../common/time.ts'
import type { Costs } from '../policies/costs.ts'
import type { Inspection } from './inspect.ts'
import { type LimiterInternals, notALimiter } from './internals.ts'
import { internalsOf } from './internals-of.ts'
import type { LeanLimiter } from './lean-limiter-types.ts'
import { QUOTA_OPTIONS, type QuotaOptions } from './limiter-options.ts'
import type { KeyList, ListOptions } from './list-types.ts'
import type { Reservation, ReserveOptions } from './reservation.ts'
import type { UpToDecision } from './up-to.ts'
import * as verbs from './verbs.ts'
import type { WaitOptions } from './wait.ts'

// The verbs of a limiter as functions: an app has those that it imports.

/** Calls a verb of a limiter. */
const of = <T>(call: string, limiter: LeanLimiter, verb: (own: LimiterInternals) => Promise<T>): Promise<T> =>
  promised(() => verb(known(call, limiter)))

function known(call: string, limiter: LeanLimiter): LimiterInternals {
  const own = internalsOf(limiter)
  if (own !== undefined) return own
  throw notALimiter(call, limiter)
}

/** Refunds `cost` units (default: 1), until the quota is full. */
export const refund = (limiter: LeanLimiter, key: string, cost?: number | Costs): Promise<Decision> =>
  of('refund', limiter, (own) => verbs.run(own, 'refund', key, cost))

/** Consumes `cost` units (default: 1), even if they are not available. The deficit is a debt that later requests wait for. */
export const charge = (limiter: LeanLimiter, key: string, cost?: number | Costs): Promise<Decision> =>
  of('charge', limiter, (own) => verbs.run(own, 'charge', key, cost))

/** Consumes as many units as are available, up to `units`, in one step of the store. Denied if none are. */
export const consumeUpTo = (limiter: LeanLimiter, key: string, units: number): Promise<UpToDecision> =>
  of('consumeUpTo', limiter, (own) => verbs.consumeUpTo(own, key, units))

/** Consumes units in advance; `delayMs` is the wait until they may be used. Settle it with `commit` or `cancel`. */
export const reserve = (limiter: LeanLimiter, key: string, options?: ReserveOptions): Promise<Reservation> =>
  of('reserve', limiter, (own) => verbs.reserve(own, key, options))

/** Resolves when it is the caller's turn, in the order of the calls. Rejects at once if the wait is longer than `maxWait`. */
export const wait = (limiter: LeanLimiter, key: string, options?: WaitOptions): Promise<Decision> =>
  of('wait', limiter, (own) => verbs.wait(own, key, options))

/** Denies a key for `duration` from now. Rejects with a `QuotaError` if the limiter cannot block. */
export const block = (limiter: LeanLimiter, key: string, duration: Duration): Promise<void> =>
  of('block', limiter, (own) => verbs.block(own, key, duration))

/** Ends the block of a key, as if it had never started. */
export const unblock = (limiter: LeanLimiter, key: string): Promise<void> =>
  of('unblock', limiter, (own) => verbs.unblock(own, key))

/** Reports what the store keeps about a key. Rejects with a `StoreError` if the store fails. */
export const inspect = (limiter: LeanLimiter, key: string): Promise<readonly Inspection[]> =>
  of('inspect', limiter, (own) => verbs.inspect(own, key))

/** Lists the keys that have used the most of a policy. Rejects with a `QuotaError` if the store cannot list its states. */
export const list = (limiter: LeanLimiter, options?: ListOptions): Promise<KeyList> =>
  of('list', limiter, (own) => verbs.list(own, options))

/** Resets all keys, and resolves with the number of states deleted. */
export const resetAll = (limiter: LeanLimiter, policy?: string): Promise<number> =>
  of('resetAll', limiter, (own) => verbs.resetAll(own, policy))

/** Replaces the quotas of a limiter that `rateLimiter` of `@spillway/core` has built, from the next call on. */
export function replace(limiter: LeanLimiter, quotas: QuotaOptions): void {
  checkOptions('replace', quotas, QUOTA_OPTIONS)
  const own = known('replace', limiter)
  if (own.replace === undefined) {
    throw new QuotaError(
      'ERR_SPILLWAY_OPTION',
      "replace: a lean limiter keeps its quota. Build it by the rateLimiter of '@spillway/core'.",
    )
  }
  own.replace(quotas)
}
