import type { Deadline, Micros, Taken } from '@spillway/core'
import { latestDeadline } from '@spillway/core/internal'
import type { Call } from './wire.ts'

/** Sends calls in one script call, and returns the result of each. */
export type Send = (calls: readonly Call[], deadline: Deadline | undefined) => Promise<readonly (readonly Taken[])[]>

interface Waiting {
  readonly call: Call
  readonly resolve: (taken: readonly Taken[]) => void
  readonly reject: (error: unknown) => void
}

/** The calls of one script call: they share a hash slot and a time. */
interface Batch {
  readonly at: Micros | undefined
  readonly waiting: Waiting[]
  weight: number
}

export interface Coalescer {
  put(call: Call): Promise<readonly Taken[]>
  /** Sends all waiting calls at once. */
  flush(): void
}

/** The maximum number of ops in one script call. It blocks the server for about half a millisecond. */
const MAX_BATCH = 100
/** More than twice as many ops are sent in two halves or more: one is in transit while the server runs the other. */
const MIN_BATCH = 16

/**
 * Coalesces the calls of an event-loop tick: calls for one hash slot share a script call, in order. Each call is
 * decided on its own: a denied call does not affect the next.
 */
export function coalescing(send: Send, slotOf: (call: Call) => number): Coalescer {
  let waiting: Waiting[] = []

  const sendBatch = ({ waiting: batch }: Batch): void => {
    const calls = batch.map(({ call }) => call)
    send(calls, latestDeadline(calls.map(({ deadline }) => deadline))).then(
      (answers) => {
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as readonly Taken[])
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
  const flush = (): void => {
    const all = waiting
    waiting = []
    for (const batch of groupIntoBatches(all, slotOf)) sendBatch(batch)
  }
  return {
    flush,
    put: (call) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ call, resolve, reject }) === 1) afterTick(flush)
      }),
  }
}

function groupIntoBatches(all: readonly Waiting[], slotOf: (call: Call) => number): readonly Batch[] {
  const room = Math.min(Math.max(Math.ceil(all.length / 2), MIN_BATCH), MAX_BATCH)
  const batches: Batch[] = []
  const openBatches = new Map<number, Batch>()
  for (const each of all) {
    const { at } = each.call
    const slot = slotOf(each.call)
    const weight = weightOf(each.call)
    let batch = openBatches.get(slot)
    if (batch === undefined || batch.at !== at || batch.weight + weight > room) {
      batch = { at, waiting: [], weight: 0 }
      batches.push(batch)
      openBatches.set(slot, batch)
    }
    batch.waiting.push(each)
    batch.weight += weight
  }
  return batches
}

/** The time that the script needs for a log grows with the length of the log. */
function weightOf({ ops }: Call): number {
  let weight = 0
  for (const { step } of ops) weight += step.kernel === 'sliding-log' ? 1 + Math.floor(step.limit / 64) : 1
  return weight
}

// Runs after all requests of this tick have reached the store. Bound at load: fake timers would stop it.
const afterTick = setImmediate
