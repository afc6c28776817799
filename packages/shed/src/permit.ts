import type { Ending, Flight } from './gate.ts'
import type { DropReason } from './queue/waiter.ts'

/** A call that is allowed. It is in flight until it ends, by one of the methods: only the first counts. */
export interface Permit extends AsyncDisposable {
  readonly allowed: true
  /** How long it has waited in the queue. */
  readonly waitedMs: number
  /** Ends the call: it has worked, and its latency shows how much the service can take. */
  succeed(): void
  /** Ends the call: it has failed. Its latency says nothing. */
  fail(): void
  /** Ends the call: its result is not needed any more. Its latency says nothing. */
  abort(): void
}

/** A call that was dropped. To dispose of it does nothing. */
export interface Drop extends AsyncDisposable {
  readonly allowed: false
  readonly reason: DropReason
  /** The wait to propose to the client. No wait is certain to be enough. */
  readonly retryAfterMs: number
}

/** `run` rejects with it if the call was dropped. */
export class OverloadError extends Error {
  /** The name of the class. */
  override readonly name = 'OverloadError'
  /** Always `ERR_SPILLWAY_OVERLOAD`. */
  readonly code = 'ERR_SPILLWAY_OVERLOAD'
  /** Why the call was dropped. */
  readonly reason: DropReason
  /** The wait to propose to the client. No wait is certain to be enough. */
  readonly retryAfterMs: number

  constructor({ reason, retryAfterMs }: Pick<Drop, 'reason' | 'retryAfterMs'>) {
    // Without a link to its page: frameworks send the messages of such errors to clients.
    super(`the call was dropped, as too many are in flight: ${reason}.`)
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }
}

export function permitOf(flight: Flight): Permit {
  const end = (ending: Ending) => () => flight.end(ending)
  return {
    allowed: true,
    waitedMs: flight.waitedMs,
    succeed: end('success'),
    fail: end('failure'),
    abort: end('abort'),
    [Symbol.asyncDispose]: async () => flight.end('success'),
  }
}

export const dropOf = (reason: DropReason, retryAfterMs: number): Drop => ({
  allowed: false,
  reason,
  retryAfterMs,
  [Symbol.asyncDispose]: async () => {},
})
