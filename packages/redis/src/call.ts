import type { Deadline, Micros, Take, Taken } from '@spillway/core'
import type { Script } from './script.ts'

/** One call of `take`: its ops, and the names of their keys. */
export interface Call {
  readonly ops: readonly Take[]
  readonly names: string[]
  readonly at: Micros | undefined
  readonly deadline: Deadline | undefined
}

/** The script for some calls, and its arguments. */
export interface EvalRequest {
  readonly script: Script
  readonly keys: string[]
  readonly arguments: string[]
}

/** The results of each call, in order. */
export type Results = readonly (readonly Taken[])[]

/** A request for some calls, and how its reply is read. */
export interface Exchange extends EvalRequest {
  read(reply: readonly unknown[]): Results
}

/** The values of a reply, one after the other. */
export class Reply {
  readonly #values: readonly unknown[]
  #place = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  value(): unknown {
    return this.#values[this.#place++]
  }

  /** Some client options return numbers as text. */
  number(): number {
    return Number(this.value())
  }
}
