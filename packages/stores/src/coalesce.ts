import { StoreError, type Taken } from '@spillway/core'
import { whenExpired, withLate } from '@spillway/core/internal'
import type { Answers, Call } from './calls.ts'
import { afterIo, nowMs } from './timers.ts'
import { EARLIER_MS, latest, TimeoutError, type Until, untilIn, within } from './until.ts'

/** What one of several calls has taken. Throws why it has failed. */
export function takenOf(answers: Answers, i: number): readonly Taken[] {
  const answer = answers[i] as readonly Taken[] | StoreError
  if (answer instanceof StoreError) throw answer
  return answer
}

/** Sends calls at once. */
export type Send = (calls: readonly Call[], until: Until) => Promise<Answers>

/** What differs between databases. */
export interface Coalesced {
  readonly send: Send
  readonly timeoutMs: number
  /** The error for the caller. */
  readonly failure: (error: unknown, timeoutMs: number) => StoreError
  /** The calls that are sent apart, each answered when its own are. Default: all are sent together. */
  readonly split?: (calls: readonly Call[]) => readonly (readonly Call[])[]
}

interface Waiting {
  readonly call: Call
  readonly until: () => Until
  /** Stops the timer of a call that waits for a key in use. */
  stop: (() => void) | undefined
  readonly resolve: (taken: readonly Taken[]) => void
  readonly reject: (error: unknown) => void
}

/** Why a call was not sent. */
const BUSY = 'earlier calls for the same key were not answered in time'

/** The maximum number of calls that are sent at once, which hold their locks until the last has ended. */
const MAX_BATCH = 500

/**
 * Coalesces the calls of an event-loop tick. Each key is in at most one batch in flight. Calls that arrive meanwhile are in the
 * next batch: otherwise each would wait for the row's lock on a connection of its own, or change the state under the others.
 */
export function coalescing({
  send,
  timeoutMs,
  failure,
  split = (calls) => [calls],
}: Coalesced): (call: Call) => Promise<readonly Taken[]> {
  const waiting = new Set<Waiting>()
  const inFlight = new Set<string>()
  let scheduled = false

  // Runs after all requests of the tick have reached the store.
  const schedule = (): void => {
    if (scheduled || waiting.size === 0) return
    scheduled = true
    afterIo(() => {
      scheduled = false
      const batch = groupIntoBatch(waiting, inFlight)
      for (const each of batch) {
        waiting.delete(each)
        each.stop?.()
      }
      for (const each of waiting) each.stop ??= dropInTime(each)
      if (batch.length > 0) sendApart(batch)
      if (batch.length === MAX_BATCH || batch[0]?.call.at !== undefined) schedule()
    })
  }

  /** Rejects a call that still waits for its keys shortly before its deadline. */
  const dropInTime = (each: Waiting): (() => void) => {
    const { sendByMs } = each.until()
    // A time before now would look like a stall of the event loop, which extends deadlines.
    const atMs = Math.max(sendByMs - EARLIER_MS, Math.min(nowMs(), sendByMs))
    return whenExpired({ atMs, spanMs: 0 }, () => {
      if (waiting.delete(each)) each.reject(failure(new TimeoutError(BUSY), timeoutMs))
    })
  }
  const sendApart = (batch: readonly Waiting[]): void => {
    const waitingOf = new Map(batch.map((each) => [each.call, each]))
    for (const calls of split(batch.map(({ call }) => call))) {
      void sendBatch(calls.map((call) => waitingOf.get(call) as Waiting))
    }
  }
  const sendBatch = async (batch: readonly Waiting[]): Promise<void> => {
    const calls = batch.map(({ call }) => call)
    const names = calls.flatMap((call) => call.names)
    for (const name of names) inFlight.add(name)
    try {
      const answers = await send(calls, latest(batch.map(({ until }) => until())))
      batch.forEach(({ resolve, reject }, i) => {
        const answer = answers[i] as readonly Taken[] | StoreError
        if (answer instanceof StoreError) reject(answer)
        else resolve(answer)
      })
    } catch (error) {
      for (const [i, { reject }] of batch.entries()) reject(withLate(error, (late) => takenOf(late as Answers, i)))
    }
    for (const name of names) inFlight.delete(name)
    schedule()
  }

  return (call) => {
    const { endMs, lateMs } = untilIn(timeoutMs)
    const until = (): Until => ({ endMs, lateMs, sendByMs: Math.min(endMs, call.deadline?.atMs ?? endMs) })
    let drop = (): boolean => false
    const answer = new Promise<readonly Taken[]>((resolve, reject) => {
      const each: Waiting = { call, until, stop: undefined, resolve, reject }
      drop = () => waiting.delete(each)
      waiting.add(each)
      schedule()
    })
    return within(endMs, answer).catch((error: unknown) => {
      if (!(error instanceof TimeoutError) || error.late) throw failure(error, timeoutMs)
      // A timed-out call that was not sent is dropped. One that was sent may still be answered.
      throw failure(drop() ? error : new TimeoutError(error.message, answer), timeoutMs)
    })
  }
}

/** The calls of the next batch: their keys are free, and no earlier call waits for one of their keys. */
function groupIntoBatch(waiting: Iterable<Waiting>, inFlight: ReadonlySet<string>): readonly Waiting[] {
  const batch: Waiting[] = []
  const held = new Set<string>()
  for (const each of waiting) {
    const { names, at } = each.call
    const free = at === (batch[0] ?? each).call.at && names.every((name) => !inFlight.has(name) && !held.has(name))
    if (free) batch.push(each)
    else for (const name of names) held.add(name)
    if (batch.length === MAX_BATCH) break
  }
  return batch
}
