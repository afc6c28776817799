import type { OnClientClosed } from '../common/client-closed.ts'
import { type MaybePromise, promised } from '../common/maybe-promise.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { Sender } from './sender.ts'

/** What callers do who wait for a turn. */
export interface Waiting {
  /** Acquires by the sender, again if the caller has lost its turn. */
  readonly acquire: (sender: Sender) => MaybePromise<Acquisition | undefined>
  /** Keeps the caller's place while its key is blocked. Default: it acquires again at its turn. */
  readonly hold?: () => void
  readonly onClientClosed: OnClientClosed
}

/**
 * Acquires, and waits for the turn: the result is the acquisition whose turn has come; undefined, if the caller has left
 * before. A block by hand holds those who wait, too: a caller whose key has been blocked meanwhile acquires again.
 */
export function acquireAtTurn(
  checks: readonly PolicyCheck[],
  { acquire, hold, onClientClosed }: Waiting,
): Promise<Acquisition | undefined> {
  const sender = new Sender(checks)
  return new Promise((resolve, reject) => {
    const start = (): void => {
      promised(acquire, sender)
        .then(wait)
        .finally(() => sender.land())
        .catch(reject)
    }
    const wait = (acquisition: Acquisition | undefined): void => {
      const queue = acquisition && sender.queueOf(acquisition, onClientClosed)
      if (acquisition === undefined || queue === undefined) {
        resolve(acquisition)
        return
      }
      let unregister = (): void => {}
      const serve = (served: Acquisition | undefined): void => {
        unregister()
        if (served) resolve(served)
        else start()
      }
      const leave = queue.join({ acquisition, order: sender.order, serve, hold })
      unregister = onClientClosed(() => {
        unregister()
        resolve(leave().then(() => undefined))
      })
    }
    start()
  })
}
