import type { OnClientClosed } from '../common/client-closed.ts'
import type { MaybePromise } from '../common/maybe-promise.ts'
import { oncePer } from '../common/once-per.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { Store } from '../stores/store.ts'
import { TurnQueue } from './turn-queue.ts'
import { registerWaiters } from './waiters.ts'

/** The queues of a store, by the states that their callers wait for. */
const queuesOf = oncePer('queues', (_store: Store) => new Map<string, TurnQueue>())

/** What callers do who wait for a turn. */
export interface Waiting {
  /** Acquires, again if the caller has lost its turn. */
  readonly acquire: () => MaybePromise<Acquisition | undefined>
  /** Keeps the caller's place while its key is blocked. Default: it acquires again at its turn. */
  readonly hold?: () => void
  readonly onClientClosed: OnClientClosed
}

/**
 * Acquires, and waits for the turn. A block by hand holds those who wait, too: a caller whose key has been blocked meanwhile
 * acquires again.
 */
export async function acquireAtTurn(
  checks: readonly PolicyCheck[],
  waiting: Waiting,
): Promise<Acquisition | undefined> {
  for (;;) {
    const acquisition = await waiting.acquire()
    const queue = acquisition && queueOf(acquisition, checks)
    if (queue === undefined) return acquisition
    const served = await waitForTurn(queue, acquisition as Acquisition, waiting)
    if (served !== 'lost') return served
  }
}

/** Waits for the turn of an acquisition, and returns the one whose turn has come: undefined, if the caller has left before. */
async function waitForTurn(
  queue: TurnQueue,
  acquisition: Acquisition,
  { hold, onClientClosed }: Waiting,
): Promise<Acquisition | 'lost' | undefined> {
  let unregister: (() => void) | undefined
  try {
    return await new Promise<Acquisition | 'lost' | undefined>((resolve) => {
      const serve = (served: Acquisition | undefined): void => resolve(served ?? 'lost')
      const leave = queue.join({ acquisition, serve, hold })
      unregister = onClientClosed(() => resolve(leave().then(() => undefined)))
    })
  } finally {
    unregister?.()
  }
}

/**
 * The queue for an acquisition, if it must wait: its turn is later than now, or callers before wait for turns that have come.
 * While the event loop is blocked, no timer serves them. A new one if its turn comes before theirs, as after a reset by another
 * process.
 */
function queueOf(acquisition: Acquisition, checks: readonly PolicyCheck[]): TurnQueue | undefined {
  const { allowed, delayMs } = acquisition.decision
  const known = queuesOf(configOf(acquisition.checks).store)
  if (!allowed || (delayMs === 0 && known.size === 0)) return undefined
  const name = statesOf(acquisition)
  const queue = known.get(name)
  if (queue?.accepts(acquisition)) return queue
  if (delayMs === 0) return undefined
  const made = new TurnQueue(checks)
  const unregister = registerWaiters(made, checks)
  made.onEmpty = () => {
    unregister()
    if (known.get(name) === made) known.delete(name)
  }
  known.set(name, made)
  return made
}

/** Equal for acquisitions of the same states. */
const statesOf = ({ results }: Acquisition): string =>
  JSON.stringify(results.map(({ checks }) => checks.map(({ policy: { name }, key }) => [name, key])))
