import type { Deadline } from '@spillway/core'
import { afterIo, cancelIo, nowMs, startTimer, stopTimer } from './timers.ts'

/** Deadlines of an operation with all its waits, as times of `performance.now()`. */
export interface Until {
  /** The time from which nothing is sent any more, because no caller waits for the answer. */
  readonly sendByMs: number
  /** The time until which the operation waits for an answer. */
  readonly endMs: number
  /** The time until which it waits for a late answer, as long again. */
  readonly lateMs: number
}

export function untilIn(timeoutMs: number, deadline?: Deadline): Until {
  const endMs = nowMs() + timeoutMs
  return { endMs, sendByMs: Math.min(endMs, deadline?.atMs ?? endMs), lateMs: endMs + timeoutMs }
}

/**
 * How long before its deadline a call stops waiting to be sent, so that its caller gets the reason, and not a timeout without
 * one: a refund that was not sent is sent later.
 */
export const EARLIER_MS = 3

/** The latest of several deadlines. */
export const latest = (all: readonly Until[]): Until => ({
  endMs: Math.max(...all.map(({ endMs }) => endMs)),
  sendByMs: Math.max(...all.map(({ sendByMs }) => sendByMs)),
  lateMs: Math.max(...all.map(({ lateMs }) => lateMs)),
})

/** A timeout. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
  /** The call, which may still be answered or fail, or a promise of undefined. Undefined if nothing was sent. */
  readonly late: Promise<unknown> | undefined
  /** The cause: the server did not answer, or no connection of the pool was free. */
  readonly reason: 'timeout' | 'pool'

  constructor(message: string, late?: Promise<unknown>, reason: 'timeout' | 'pool' = 'timeout') {
    super(message)
    this.late = late
    this.reason = reason
  }
}

/** Waits for a promise until a deadline, and then for one more I/O phase, because timers run before I/O. */
export function within<T>(atMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let turn: unknown
    const timer = startTimer(
      () => {
        turn = afterIo(() => reject(new TimeoutError('no answer in time')))
      },
      Math.max(atMs - nowMs(), 0),
    )
    const stop = (): void => {
      stopTimer(timer)
      if (turn !== undefined) cancelIo(turn)
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

/** Waits for an answer until a deadline. The timeout error has a promise of the late answer. */
export async function answerBy<T>(until: Until, answer: Promise<T>): Promise<T> {
  try {
    return await within(until.endMs, answer)
  } catch (error) {
    if (!(error instanceof TimeoutError) || error.late !== undefined) throw error
    throw new TimeoutError(
      error.message,
      within(until.lateMs, answer).catch(() => undefined),
    )
  }
}
