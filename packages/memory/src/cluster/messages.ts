import type { SentStep } from '@spillway/core'

/**
 * The type of all messages, in both directions: other messages on the same channel have another. PM2 passes on what has a
 * `type`, a `topic` and `data`.
 */
export const TYPE = 'spillway:memory'

/** A message between a worker and its primary. */
export interface Message<T> {
  readonly type: typeof TYPE
  readonly topic: typeof TYPE
  readonly data: T
}

export const messageOf = <T>(data: T): Message<T> => ({ type: TYPE, topic: TYPE, data })

/** The data of a message; undefined if it is one of something else. */
export function dataOf<T>(message: unknown): T | undefined {
  const { type, data } = (message ?? {}) as Partial<Message<T>>
  return type === TYPE && typeof data === 'object' && data !== null ? data : undefined
}

/** An op: its policy, its key, and which of the steps of the message it is. */
export type SentOp = readonly [policy: string, key: string, step: number]

/** A call of a store. */
export type Call =
  | readonly ['takeEach', batches: readonly (readonly SentOp[])[], at?: number | null]
  | readonly ['delete', keys: readonly (readonly [policy: string, key: string])[]]
  | readonly ['deleteAll', policies: readonly string[]]
  | readonly ['list', policy: string, step: number, list: string]

/** The calls of one event-loop tick. Most have the same few steps, which are sent once. */
export interface Request {
  /** The name of the store. */
  readonly name: string
  readonly id: number
  readonly steps: readonly SentStep[]
  readonly calls: readonly Call[]
}

/** The result of a call, or the message of its error. */
export type Answer = { readonly value: unknown } | { readonly error: string }

/** The answers of a request, in the order of its calls. */
export interface Reply {
  readonly name: string
  readonly id: number
  readonly answers: readonly Answer[]
}
