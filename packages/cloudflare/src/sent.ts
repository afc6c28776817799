import type { StateKey } from '@spillway/core'
import type { SentStep } from '@spillway/core/internal'

/** A take as plain data, which a remote method accepts. */
export interface SentTake extends StateKey {
  /** What is done with the state. */
  readonly step: SentStep
}
