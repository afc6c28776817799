import type { Decision } from '@spillway/core'
import type { Act } from './act.ts'
import type { Entry } from './ledger.ts'
import type { Handle, Process, Simulation } from './simulation.ts'

/** What an act is done with. */
export interface Context {
  readonly simulation: Simulation
  readonly process: Process
  readonly handle: Handle
  readonly act: Act
  readonly key: string
  /** Makes a call, and enters it with its answer. */
  enter(cost: number, waitMs: number, call: () => Promise<Decision | undefined>, policy?: string): Promise<Entry>
}
