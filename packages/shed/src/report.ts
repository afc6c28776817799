import type { Logger } from '@spillway/core'
import { diagnosticsChannel, notify } from '@spillway/core/internal'
import type { DropReason, Priority } from './queue/waiter.ts'

/** A decision as it is reported, to `onDecision` and on the diagnostics channel `spillway:shed`. */
export interface ShedEvent {
  /** Whether the call is in flight. */
  readonly allowed: boolean
  /** Why the call was dropped; undefined if it was not. */
  readonly reason: DropReason | undefined
  /** Its priority. */
  readonly priority: Priority
  /** How long it waited in the queue. */
  readonly waitedMs: number
  /** How many calls may be in flight at once. */
  readonly limit: number
  /** How many calls are in flight, after the decision. */
  readonly inFlight: number
  /** How many calls wait, after the decision. */
  readonly queued: number
}

/** Reports decisions. A listener that throws does not affect the call. */
export interface Reporter {
  readonly isHeard: boolean
  report(event: ShedEvent): void
}

export function reporter(listener: ((event: ShedEvent) => unknown) | undefined, logger: Logger): Reporter {
  const channel = diagnosticsChannel('spillway:shed')
  return {
    get isHeard(): boolean {
      return listener !== undefined || channel?.hasSubscribers === true
    },
    report(event) {
      if (channel?.hasSubscribers) channel.publish(event)
      if (listener) notify('onDecision', listener, event, logger)
    },
  }
}
