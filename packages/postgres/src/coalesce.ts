import { StoreError, type Taken, withoutLink } from '@spillway/core'
import { failure } from './retry.ts'
import { Late, latest, type Until, untilIn, within } from './until.ts'
import type { Call } from './wire.ts'

/** Puts calls to the database in one statement and answers each, or says why that one failed. */
export type Send = (calls: readonly Call[], until: Until) => Promise<readonly (readonly Taken[] | StoreError)[]>

interface Waiting {
  readonly call: Call
  readonly until: () => Until
  /** Has seen others go before it, as its keys were taken. */
  stayed: boolean
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
      dropExpired(waiting)
      const going = boarding(waiting, underway)
      for (const each of waiting) each.stayed = !going.includes(each)
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
      const answers = await send(calls, latest(going.map(({ until }) => until())))
      going.forEach(({ resolve, reject }, i) => {
        const answer = answers[i] as readonly Taken[] | StoreError
        if (answer instanceof StoreError) reject(answer)
        else resolve(answer)
      })
    } catch (error) {
      for (const [i, { reject }] of going.entries()) reject(lateOf(error, i))
    }
    for (const name of names) underway.delete(name)
    schedule()
  }

  return (call) => {
    let each: Waiting | undefined
    const answer = new Promise<readonly Taken[]>((resolve, reject) => {
      const { endMs } = untilIn(patience)
      const until = (): Until => ({ endMs, sendByMs: Math.min(endMs, call.deadline?.atMs ?? endMs) })
      each = { call, until, stayed: false, resolve, reject }
      waiting.add(each)
      schedule()
    })
    return within((each as unknown as Waiting).until().endMs, answer).catch((error: unknown) => {
      // Whoever has given up need not be sent any more; what was sent may be answered yet.
      const unsent = waiting.delete(each as Waiting)
      if (!(error instanceof Late) || error.late) throw failure(error, patience)
      throw failure(unsent ? error : new Late(error.message, answer.catch(lateIn)), patience)
    })
  }
}

/** The answer to one of several calls, should it come late. */
export function lateOf(error: unknown, place: number): unknown {
  if (!(error instanceof StoreError) || error.late === undefined) return error
  const late = error.late.then((answers) => (answers as readonly unknown[] | undefined)?.[place])
  return new StoreError(withoutLink(error.message), error.cause, { reason: error.reason, late })
}

const lateIn = (error: unknown): unknown => (error instanceof StoreError ? error.late : undefined)

/** What has expired is not sent. A call that has not waited yet always is: until now only this process stood still. */
function dropExpired(waiting: Set<Waiting>): void {
  for (const each of waiting) {
    if (!each.stayed || performance.now() < each.until().sendByMs) continue
    waiting.delete(each)
    each.reject(new Late('earlier calls for the same key were not answered in time'))
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
