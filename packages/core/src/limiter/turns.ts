import { rollback } from '../checks/correct.ts'
import type { OnClientClosed } from '../common/client-closed.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import { oncePer } from '../common/once-per.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { Store } from '../stores/store.ts'
import { isBlockedByHand } from './block.ts'
import { TurnQueue } from './turn-queue.ts'

/** The queues of a store, by the states that their callers wait for. */
const queuesOf = oncePer('queues', (_store: Store) => new Map<string, TurnQueue>())

/** Whether the turn of an acquisition is later than now, or behind others. */
const mustWait = (acquisition: Acquisition): boolean =>
  acquisition.decision.allowed && (acquisition.decision.delayMs > 0 || isBehindOthers(acquisition))

/** Whether callers before wait for turns that have come: while the event loop is blocked, no timer serves them. */
function isBehindOthers(acquisition: Acquisition): boolean {
  const known = queuesOf(configOf(acquisition.checks).store)
  return known.size > 0 && known.get(statesOf(acquisition))?.accepts(acquisition) === true
}

/**
 * Acquires, and waits for the turn. A block by hand holds those who wait, too: a caller whose key has been blocked meanwhile
 * acquires again.
 */
export async function acquireAtTurn(
  checks: readonly PolicyCheck[],
  acquireOnce: () => MaybePromise<Acquisition | undefined>,
  onClientClosed: OnClientClosed,
): Promise<Acquisition | undefined> {
  for (;;) {
    const acquisition = await acquireOnce()
    if (acquisition === undefined || !mustWait(acquisition)) return acquisition
    const served = await waitForTurn(acquisition, onClientClosed)
    if (served === undefined || !(await isBlockedByHand(checks))) return served
    await rollback(served)
  }
}

/** Waits for the turn of an acquisition, and returns the one whose turn has come: undefined, if the caller has left before. */
async function waitForTurn(acquisition: Acquisition, onClientClosed: OnClientClosed): Promise<Acquisition | undefined> {
  let unregister: (() => void) | undefined
  try {
    return await new Promise<Acquisition | undefined>((resolve) => {
      const leave = queueOf(acquisition).join(acquisition, resolve)
      unregister = onClientClosed(() => resolve(leave().then(() => undefined)))
    })
  } finally {
    unregister?.()
  }
}

/** The queue of the callers before; a new one if this caller's turn comes before theirs, as after a reset. */
function queueOf(acquisition: Acquisition): TurnQueue {
  const known = queuesOf(configOf(acquisition.checks).store)
  const name = statesOf(acquisition)
  const queue = known.get(name)
  if (queue?.accepts(acquisition)) return queue
  const made: TurnQueue = new TurnQueue(() => {
    if (known.get(name) === made) known.delete(name)
  })
  known.set(name, made)
  return made
}

/** Equal for acquisitions of the same states. */
const statesOf = ({ results }: Acquisition): string =>
  JSON.stringify(results.map(({ checks }) => checks.map(({ policy: { name }, key }) => [name, key])))
