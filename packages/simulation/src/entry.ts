import type { Decision, KeyList, Quota } from '@spillway/core'
import type { Host } from './runtime/host.ts'
import type { StateServer } from './state-server.ts'

/** A call of the limiter, and what it returned. Times are in microseconds since the start. */
export interface Entry {
  readonly verb: string
  readonly host: Host
  readonly handle: number
  readonly server: StateServer
  readonly key: string
  /** The name of the key's state in the server. */
  readonly name: string
  readonly cost: number
  /** The quota that the process applied. */
  readonly quota: Quota
  readonly calledAt: number
  /** How long the process had been stalled before the call. */
  readonly stalledBefore: number
  /** How long the call may last, in microseconds, without stalls. */
  readonly mayLast: number
  answeredAt: number | undefined
  stalled: number
  decision: Decision | undefined
  error: unknown
  /** Units that its caller may use. */
  kept: number
  /** When its units may be used: after the answer. */
  turnAt: number
  /** When its caller asked for a refund. */
  refundedAt: number | undefined
  /** When the store had answered that refund. Undefined if that is not known: it may be made later. */
  refundAnsweredAt: number | undefined
  /** The denied call that this one repeats after the wait. */
  retryOf: Entry | undefined
  /** The keys that it has listed. */
  listed: KeyList | undefined
}
