import type { Deadline } from '@spillway/core'

/** How long something may take, on the time line of `performance.now()`: one end for all that it waits for. */
export interface Until {
  /** When nothing is sent any more, as no caller waits for the answer. */
  readonly sendByMs: number
  /** When the answer to what was sent is not waited for any more. */
  readonly endMs: number
}

export function untilIn(patience: number, deadline?: Deadline): Until {
  const endMs = performance.now() + patience
  return { endMs, sendByMs: Math.min(endMs, deadline?.atMs ?? endMs) }
}

/** As long as the most patient of several. */
export const latest = (all: readonly Until[]): Until => ({
  endMs: Math.max(...all.map(({ endMs }) => endMs)),
  sendByMs: Math.max(...all.map(({ sendByMs }) => sendByMs)),
})

/** Nobody answered in time. */
export class Late extends Error {
  override readonly name = 'Late'
  /** What is answered after all to what was sent, undefined where nothing is; none if nothing was sent. */
  readonly late: Promise<unknown> | undefined
  /** What was waited for: the server's answer, or a connection of the pool. */
  readonly reason: 'timeout' | 'pool'

  constructor(message: string, late?: Promise<unknown>, reason: 'timeout' | 'pool' = 'timeout') {
    super(message)
    this.late = late
    this.reason = reason
  }
}

/** Waits for a promise, but no longer than until a moment; then for one turn of I/O, as timers run before it. */
export function within<T>(atMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let turn: unknown
    const timer = setTimeout(
      () => {
        turn = afterIo(() => reject(new Late('no answer in time')))
      },
      Math.max(atMs - performance.now(), 0),
    )
    const stop = (): void => {
      clearTimeout(timer)
      if (turn !== undefined) cancel(turn)
    }
    promise.then(
      (value) => {
        stop()
        resolve(value)
      },
      (error: unknown) => {
        stop()
        reject(error)
      },
    )
  })
}

// Held here: fake timers would stop it.
const hasImmediate = typeof setImmediate === 'function'
const afterIo: (run: () => void) => unknown = hasImmediate ? setImmediate : setTimeout
const cancel: (turn: unknown) => void = (hasImmediate ? clearImmediate : clearTimeout) as (turn: unknown) => void
