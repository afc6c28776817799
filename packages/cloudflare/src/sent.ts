import type { SentStep, StateKey } from '@spillway/core'

/** A take as plain data, which a remote method accepts. */
export interface SentTake extends StateKey {
  /** What is done with the state. */
  readonly step: SentStep
}
