import type { Micros, Step, Taken } from '@spillway/core'
import type { Call, Exchange, Reply, Results } from '../call.ts'

/** The kernels of all algorithms. */
export type KernelName = Step['kernel']

/** What the store has of an algorithm. Without it, the store takes no steps of it. */
export interface Algorithm<K extends KernelName = KernelName> {
  readonly kernel: K
  /** The kernel in Lua. */
  readonly lua: string
  /** Reads the result of a step from the reply of the script; `answer` is its first number. */
  read(answer: number, now: Micros, step: Step & { readonly kernel: K }, reply: Reply): Taken
  /** Encodes calls for a script that is faster than the one of all algorithms; undefined if that cannot take them. */
  readonly encode?: (calls: readonly Call[], general: GeneralReader) => Exchange | undefined
}

/** Reads the replies of the script of all algorithms. */
export interface GeneralReader {
  read(calls: readonly Call[], reply: readonly unknown[]): Results
}
