import type { Candidate } from '../measure.ts'
import type { workloads } from '../workloads.ts'

/** Something that a user's request pays for, measured in two revisions. */
export interface SpeedCase {
  readonly keys: keyof typeof workloads
  /** The number of calls of a turn. */
  readonly chunk: number
  /** Makes the calls of one revision. */
  readonly make: () => Candidate['run']
}

export type SpeedCases = Readonly<Record<string, SpeedCase>>
