import { rollback } from '../checks/acquisition.ts'
import type { Acquisition, StoreResult } from '../checks/store-result.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import { oncePer } from '../common/once-per.ts'
import { monotonicMs } from '../common/time.ts'
import { configOf, type PolicyCheck } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'

/** A caller in this process that waits for its turn. */
interface Waiter {
  acquisition: Acquisition
  dueMs: number
  /** Restarts the timer. */
  schedule: () => void
}

/** The callers that wait for the same units of the same states, in the order of their turns. */
const queuesOf = oncePer('queues', (_store: Store) => new Map<string, Waiter[]>())

/**
 * Waits for the turn of an acquisition, if it has one later than now, and returns the acquisition whose turn has come. If the
 * caller leaves first, its units are refunded, and the result is undefined.
 *
 * A turn in the middle of a queue cannot be refunded, because later turns depend on it. So the later callers in this process
 * move up by one each, and the last of their turns is refunded.
 */
export function atTurn(
  acquisition: Acquisition,
  onClientClosed: OnClientClosed,
): MaybePromise<Acquisition | undefined> {
  const { allowed, delayMs } = acquisition.decision
  return allowed && delayMs > 0 ? waitForTurn(acquisition, onClientClosed) : acquisition
}

async function waitForTurn(acquisition: Acquisition, onClientClosed: OnClientClosed): Promise<Acquisition | undefined> {
  const { checks, decision } = acquisition
  const [queue, end] = queueOf(checks)
  const waiter: Waiter = { acquisition, dueMs: monotonicMs() + decision.delayMs, schedule: () => {} }
  const place = queue.findLastIndex(({ dueMs }) => dueMs <= waiter.dueMs) + 1
  queue.splice(place, 0, waiter)
  const hasTurn = await new Promise<boolean>((resolve) => {
    let stop: (() => void) | undefined
    let unregister: (() => void) | undefined
    const end = (isDue: boolean): void => {
      stop?.()
      unregister?.()
      waiter.schedule = () => {}
      resolve(isDue)
    }
    waiter.schedule = () => {
      stop?.()
      stop = setLongTimeout(Math.max(waiter.dueMs - monotonicMs(), 0), () => end(true))
    }
    waiter.schedule()
    unregister = onClientClosed(() => end(false))
  })
  const unused = hasTurn ? undefined : moveUp(queue, waiter)
  queue.splice(queue.indexOf(waiter), 1)
  if (queue.length === 0) end()
  if (unused === undefined) return waiter.acquisition
  await rollback(unused)
  return undefined
}

function queueOf(checks: readonly PolicyCheck[]): [queue: Waiter[], end: () => void] {
  const known = queuesOf(configOf(checks).store)
  const name = JSON.stringify(checks.map(({ policy, key, cost }) => [policy.name, key, cost]))
  const queue = known.get(name) ?? []
  known.set(name, queue)
  return [queue, () => known.delete(name)]
}

/** Moves all later callers up by one turn; returns the acquisition of the last turn, which is free. */
function moveUp(queue: readonly Waiter[], leaving: Waiter): Acquisition {
  let { acquisition, dueMs } = leaving
  for (const waiter of queue.slice(queue.indexOf(leaving) + 1)) {
    const next = exchanged(waiter.acquisition, acquisition)
    const unused = exchanged(acquisition, waiter.acquisition)
    if (next === undefined || unused === undefined) continue
    const freeMs = waiter.dueMs
    Object.assign(waiter, { acquisition: next, dueMs })
    waiter.schedule()
    ;[acquisition, dueMs] = [unused, freeMs]
  }
  return acquisition
}

/** An acquisition with the takes of another one of the same checks; undefined if one was made without the store. */
function exchanged({ checks, decision, results }: Acquisition, other: Acquisition): Acquisition | undefined {
  const changed = results.map(({ checks, decisions, taken }, i): StoreResult | undefined => {
    const theirs = other.results[i]?.taken
    return taken && theirs && { checks, decisions, taken: theirs }
  })
  return changed.every((result) => result !== undefined) ? { checks, decision, results: changed } : undefined
}
