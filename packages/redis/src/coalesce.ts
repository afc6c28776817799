import type { Deadline, Micros, Taken } from '@spillway/core'
import { latestDeadline } from '@spillway/core/internal'
import type { Call, Results } from './call.ts'

/** Sends calls in one script call, and returns the result of each. */
export type Send = (calls: readonly Call[], deadline: Deadline | undefined) => Promise<Results>

/** A call, and its caller. */
interface Waiting extends Call {
  readonly resolve: (taken: readonly Taken[]) => void
  readonly reject: (error: unknown) => void
}

/** The calls of one script call: they share a hash slot and a time. */
interface Batch {
  readonly at: Micros | undefined
  readonly waiting: Waiting[]
  weight: number
}

/** Sends calls, of which several may share a script call. */
export interface Coalescer {
  put(...call: [Call['ops'], Call['names'], Call['at'], Call['deadline']]): Promise<readonly Taken[]>
  /** Sends all waiting calls at once. */
  flush(): void
}

/** The maximum number of ops in one script call. It blocks the server for about half a millisecond. */
const MAX_BATCH = 100
/** More than twice as many ops are sent in two halves or more: one is in transit while the server runs the other. */
const MIN_BATCH = 16

/**
 * Coalesces the calls of an event-loop tick: calls for one hash slot share a script call, in order. Each call is
 * decided on its own: a denied call does not affect the next. Without `slotOf`, all keys are in one slot.
 */
export function coalescing(send: Send, slotOf?: (call: Call) => number): Coalescer {
  let waiting: Waiting[] = []

  const sendBatch = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      const answers = await send(batch, batch.length === 1 ? batch[0]?.deadline : latestDeadline(batch.map(deadlineOf)))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as readonly Taken[])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const flush = (): void => {
    const all = waiting
    waiting = []
    if (all.length === 1) void sendBatch(all)
    else for (const { waiting } of groupIntoBatches(all, slotOf)) void sendBatch(waiting)
  }
  return {
    flush,
    put: (ops, names, at, deadline) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ ops, names, at, deadline, resolve, reject }) === 1) afterTick(flush)
      }),
  }
}

const deadlineOf = ({ deadline }: Call): Deadline | undefined => deadline

function groupIntoBatches(all: readonly Waiting[], slotOf: ((call: Call) => number) | undefined): readonly Batch[] {
  const room = Math.min(Math.max(Math.ceil(all.length / 2), MIN_BATCH), MAX_BATCH)
  const batches: Batch[] = []
  const openBatches = new Map<number, Batch>()
  for (const each of all) {
    const { at } = each
    const slot = slotOf?.(each) ?? 0
    const weight = weightOf(each)
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
