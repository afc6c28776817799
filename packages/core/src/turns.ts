import { type Booking, giveBack } from './booking.ts'
import type { OnLeave } from './leaving.ts'
import { oncePer } from './once-per.ts'
import type { Part } from './part.ts'
import type { Ask } from './policy.ts'
import { later } from './sleep.ts'
import type { Store } from './store.ts'

// Every runtime has it, though no ECMAScript library declares it.
declare const performance: { now(): number }

/** A caller in this process that waits for the turn it has booked. */
interface Waiter {
  booking: Booking
  dueMs: number
  /** Starts the timer anew. */
  schedule: () => void
}

/** Those who wait for the same units of the same states, in the order of their turns. */
const queuesOf = oncePer((_store: Store) => new Map<string, Waiter[]>())

/**
 * Waits for the turn of a booking, and resolves with the booking whose turn has come. `onLeave` registers what ends the
 * wait early, and returns how to unregister it; then the units are given back: undefined.
 *
 * A turn in the middle of a queue cannot be given back, because later ones stand on it. So the callers behind in this
 * process move up by one each, and the last of their turns is what is given back.
 */
export async function waitForTurn(booking: Booking, onLeave: OnLeave): Promise<Booking | undefined> {
  const { asks, decision } = booking
  const [queue, end] = queueOf(asks)
  const waiter: Waiter = { booking, dueMs: performance.now() + decision.delayMs, schedule: () => {} }
  const place = queue.findLastIndex(({ dueMs }) => dueMs <= waiter.dueMs) + 1
  queue.splice(place, 0, waiter)
  const stayed = await new Promise<boolean>((resolve) => {
    let stop: (() => void) | undefined
    let forget: (() => void) | undefined
    const end = (stayed: boolean): void => {
      stop?.()
      forget?.()
      waiter.schedule = () => {}
      resolve(stayed)
    }
    waiter.schedule = () => {
      stop?.()
      stop = later(Math.max(waiter.dueMs - performance.now(), 0), () => end(true))
    }
    waiter.schedule()
    forget = onLeave(() => end(false))
  })
  const unused = stayed ? undefined : moveUp(queue, waiter)
  queue.splice(queue.indexOf(waiter), 1)
  if (queue.length === 0) end()
  if (unused === undefined) return waiter.booking
  await giveBack(unused)
  return undefined
}

function queueOf(asks: readonly Ask[]): [queue: Waiter[], end: () => void] {
  const { store } = (asks[0] as Ask).policy.source
  const known = queuesOf(store)
  const name = JSON.stringify(asks.map(({ policy, key, cost }) => [policy.name, key, cost]))
  const queue = known.get(name) ?? []
  known.set(name, queue)
  return [queue, () => known.delete(name)]
}

/** Gives the turn of a caller who leaves to the next, whose turn goes to the one after, and so on; returns the last. */
function moveUp(queue: readonly Waiter[], leaving: Waiter): Booking {
  let { booking, dueMs } = leaving
  for (const waiter of queue.slice(queue.indexOf(leaving) + 1)) {
    const next = exchanged(waiter.booking, booking)
    const unused = exchanged(booking, waiter.booking)
    if (next === undefined || unused === undefined) continue
    const freeMs = waiter.dueMs
    Object.assign(waiter, { booking: next, dueMs })
    waiter.schedule()
    ;[booking, dueMs] = [unused, freeMs]
  }
  return booking
}

/** A booking with the takes of another one of the same; undefined where one of them was made without the store. */
function exchanged({ asks, decision, parts }: Booking, other: Booking): Booking | undefined {
  const changed = parts.map(({ asks, decisions, taken }, i): Part | undefined => {
    const theirs = other.parts[i]?.taken
    return taken && theirs && { asks, decisions, taken: theirs }
  })
  return changed.every((part) => part !== undefined) ? { asks, decision, parts: changed } : undefined
}
