import type { Taken } from '@spillway/core'
import { within } from './clients.ts'
import { failure } from './retry.ts'
import type { Call } from './wire.ts'

/** Puts calls to the database in one statement and answers each. */
export type Send = (calls: readonly Call[]) => Promise<readonly (readonly Taken[])[]>

interface Waiting {
  readonly call: Call
  readonly resolve: (taken: readonly Taken[]) => void
  readonly reject: (error: unknown) => void
}

/** The most calls in one statement: it holds its locks for as long as it runs. */
const MOST = 500

/**
 * Gathers the calls of a tick into one statement. A key has one statement under way at most, and whoever asks for it
 * meanwhile goes with the next: they would only wait for the row's lock, each on a connection of its own.
 */
export function coalescing(send: Send, patience: number): (call: Call) => Promise<readonly Taken[]> {
  const waiting = new Set<Waiting>()
  const underway = new Set<string>()
  let scheduled = false

  // After the tick, when all requests that have come in are at the store.
  const schedule = (): void => {
    if (scheduled || waiting.size === 0) return
    scheduled = true
    afterTick(() => {
      scheduled = false
      const going = boarding(waiting, underway)
      if (going.length > 0) void travel(going)
      if (going.length === MOST || going[0]?.call.at !== undefined) schedule()
    })
  }

  const travel = async (going: readonly Waiting[]): Promise<void> => {
    const calls = going.map(({ call }) => call)
    const names = calls.flatMap((call) => call.names)
    for (const each of going) waiting.delete(each)
    for (const name of names) underway.add(name)
    try {
      const answers = await send(calls)
      going.forEach(({ resolve }, i) => {
        resolve(answers[i] as readonly Taken[])
      })
    } catch (error) {
      for (const { reject } of going) reject(error)
    }
    for (const name of names) underway.delete(name)
    schedule()
  }

  return (call) => {
    let each: Waiting | undefined
    const answer = new Promise<readonly Taken[]>((resolve, reject) => {
      each = { call, resolve, reject }
      waiting.add(each)
      schedule()
    })
    return within(patience, answer).catch((error: unknown) => {
      // Whoever has given up need not be sent any more.
      waiting.delete(each as Waiting)
      throw failure(error, patience)
    })
  }
}

/** Those who can go together now: their keys are free, and nobody who stays was there first. */
function boarding(waiting: Iterable<Waiting>, underway: ReadonlySet<string>): readonly Waiting[] {
  const going: Waiting[] = []
  const held = new Set<string>()
  for (const each of waiting) {
    const { names, at } = each.call
    const free = at === (going[0] ?? each).call.at && names.every((name) => !underway.has(name) && !held.has(name))
    if (free) going.push(each)
    else for (const name of names) held.add(name)
    if (going.length === MOST) break
  }
  return going
}

const afterTick: (run: () => void) => void = typeof setImmediate === 'function' ? setImmediate : setTimeout
