import type { OnClientClosed } from '../common/client-closed.ts'
import { type MaybePromise, promised } from '../common/maybe-promise.ts'
import type { Micros } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import type { TurnQueue } from './turn-queue.ts'
import { knownQueues, queuesFor, type TurnQueues } from './turn-queues.ts'

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
  { acquire: acquireBy, hold, onClientClosed }: Waiting,
): Promise<Acquisition | undefined> {
  const sender = new Sender(checks)
  return new Promise((resolve, reject) => {
    const start = (): void => {
      promised(acquireBy, sender)
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

let callers = 0

/** Sends the acquisitions of one caller. */
export class Sender {
  /** The earlier the caller has called, the smaller. */
  readonly order: number = ++callers
  readonly #checks: readonly PolicyCheck[]
  /** Those that know of its acquisition, whose turn they do not know yet. */
  #sentTo: TurnQueues | undefined

  constructor(checks: readonly PolicyCheck[]) {
    this.#checks = checks
  }

  /** Whether it must not send yet, as units are being refunded. */
  get isHeld(): boolean {
    return knownQueues(this.#checks)?.areHeld === true
  }

  /** Resolves when it may send. */
  async untilFree(): Promise<void> {
    while (this.isHeld) await knownQueues(this.#checks)?.untilSent(this.order)
  }

  /** Acquires. Of one that is allowed, `land` must be called when its caller has joined one. */
  async send(maxWaitMicros?: Micros): Promise<Acquisition> {
    const answer = acquire('consume', this.#checks, maxWaitMicros === undefined ? undefined : { maxWaitMicros })
    const isKnown = !(answer instanceof Promise) && answer.decision.delayMs === 0 && !knownQueues(this.#checks)
    if (isKnown) return answer
    this.#sentTo = queuesFor(this.#checks)
    this.#sentTo.send()
    const acquisition = await answer
    if (!acquisition.decision.allowed) this.land()
    return acquisition
  }

  land(): void {
    this.#sentTo?.land()
    this.#sentTo = undefined
  }

  /**
   * The queue for an acquisition, if it must wait: its turn is later than now, or callers before wait for turns that have come.
   * While the event loop is blocked, no timer serves them. Or its caller has left, and other acquisitions have been sent.
   */
  queueOf(acquisition: Acquisition, onClientClosed: OnClientClosed): TurnQueue | undefined {
    const { allowed, delayMs } = acquisition.decision
    if (!allowed) return undefined
    let mustWait = delayMs > 0
    if (!mustWait && this.#sentTo && this.#sentTo.sent > 1) {
      const leave = (): void => {
        mustWait = true
      }
      onClientClosed(leave)()
    }
    return (mustWait ? queuesFor : knownQueues)(this.#checks)?.queueOf(acquisition, mustWait)
  }
}
