import type { Micros } from '@spillway/core'
import type { Run } from './app.ts'
import type { Traffic } from './traffic.ts'

/** Something that is sent the traffic: an algorithm, or an app with several policies, processes or failures. */
export interface LaneKind {
  readonly id: string
  readonly name: string
  /** The code of what distinguishes it. */
  readonly code: string
  /** The options of `rateLimit`, but for those of `policies`. */
  readonly options: readonly string[]
  /** Those that only middleware has. */
  readonly httpOptions?: readonly string[]
  /** The policies, if there are several: the name, the code of the quota and the limit of each. */
  readonly policies?: readonly (readonly [name: string, quota: string, limit: number])[]
  /** The functions that the options call. */
  readonly imports: readonly string[]
  /** Whether its store is remote: a Redis server, in the code. */
  readonly remote?: boolean
  /** The label of its level. */
  readonly left: string
  /** The size of a key's state, if that differs between the lanes. */
  readonly memory?: string
  /** What there is to say at a time, beside the level and the last answer. */
  readonly now?: (run: Run, at: Micros) => string
  /** Outside HTTP: the arguments with which slots are acquired. */
  readonly acquire?: string
  /** The options of `shed` or `shedder`, in place of those of `rateLimit`. */
  readonly shed?: string
  readonly run: (traffic: Traffic) => Run | Promise<Run>
}

/** What is compared. */
export const SCENES = {
  algorithms: 'Algorithms',
  policies: 'Two policies',
  processes: 'Two processes',
  failing: 'A store that fails',
  slots: 'Slots in flight',
  shedding: 'Adaptive shedding',
} as const
export type Scene = keyof typeof SCENES

/** What is said of requests that are allowed, and of others. */
export const wordsOf = (scene: Scene): readonly [yes: string, no: string] =>
  scene === 'shedding' ? ['served in time', 'dropped or too late'] : ['allowed', 'denied']

/** Whether the quota of a scene has a window. */
export const hasWindow = (scene: Scene): boolean => scene !== 'slots' && scene !== 'shedding'
