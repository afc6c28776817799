import type { Act } from './act.ts'
import type { Setting } from './setting.ts'

/** Something that goes wrong at a time. */
export interface Fault {
  readonly kind: string
  /** In microseconds since the start. */
  readonly at: number
  /** How long it lasts, in microseconds. */
  readonly micros: number
  /** How bad it is: 0 or more, below 1. */
  readonly size: number
  /** Draws the server, the process or the link that it hits. */
  readonly target: number
}

/** A run: everything in it is drawn from the seed. */
export interface Scenario {
  readonly seed: number
  readonly setting: Setting
  readonly acts: readonly Act[]
  readonly faults: readonly Fault[]
}
