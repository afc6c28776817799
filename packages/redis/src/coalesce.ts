import { type Deadline, latestDeadline, type Micros, type Taken } from '@spillway/core'
import type { Call } from './wire.ts'

/** Puts calls to the server in one script call and answers each. */
export type Send = (calls: readonly Call[], deadline: Deadline | undefined) => Promise<readonly (readonly Taken[])[]>

interface Waiting {
  readonly call: Call
  readonly resolve: (taken: readonly Taken[]) => void
  readonly reject: (error: unknown) => void
}

/** Those who travel together: to one slot, at one moment. */
interface Coach {
  readonly at: Micros | undefined
  readonly seats: Waiting[]
  weight: number
}

export interface Coalescer {
  put(call: Call): Promise<readonly Taken[]>
  /** Sends at once what has been gathered. */
  flush(): void
}

/** The most ops in one script call: while it runs, for about half a millisecond, the server serves nobody else. */
const MOST = 100
/** A crowd of more than twice as many goes in two halves at least: one is on its way while the server has the other. */
const FEW = 16

/**
 * Gathers the calls of a tick, and sends those of one slot together, in the order they came. Each is a batch of its own
 * to the script: one that is refused does not hinder the next.
 */
export function coalescing(send: Send, slotOf: (call: Call) => number): Coalescer {
  let waiting: Waiting[] = []

  const travel = async ({ seats }: Coach): Promise<void> => {
    try {
      const calls = seats.map(({ call }) => call)
      const answers = await send(calls, latestDeadline(calls.map(({ deadline }) => deadline)))
      seats.forEach(({ resolve }, i) => {
        resolve(answers[i] as readonly Taken[])
      })
    } catch (error) {
      for (const { reject } of seats) reject(error)
    }
  }
  const flush = (): void => {
    const all = waiting
    waiting = []
    for (const coach of seated(all, slotOf)) void travel(coach)
  }
  return {
    flush,
    put: (call) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ call, resolve, reject }) === 1) afterTick(flush)
      }),
  }
}

function seated(all: readonly Waiting[], slotOf: (call: Call) => number): readonly Coach[] {
  const room = Math.min(Math.max(Math.ceil(all.length / 2), FEW), MOST)
  const coaches: Coach[] = []
  const boarding = new Map<number, Coach>()
  for (const each of all) {
    const { at } = each.call
    const slot = slotOf(each.call)
    const weight = weightOf(each.call)
    let coach = boarding.get(slot)
    if (coach === undefined || coach.at !== at || coach.weight + weight > room) {
      coach = { at, seats: [], weight: 0 }
      coaches.push(coach)
      boarding.set(slot, coach)
    }
    coach.seats.push(each)
    coach.weight += weight
  }
  return coaches
}

/** A log takes the script longer, the longer it is. */
function weightOf({ ops }: Call): number {
  let weight = 0
  for (const { step } of ops) weight += step.kernel === 'sliding-log' ? 1 + Math.floor(step.limit / 64) : 1
  return weight
}

// When all requests that have come in with this tick are at the store. Held here: fake timers would stop it.
const afterTick = setImmediate
