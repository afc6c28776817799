import { oncePer } from '../common/once-per.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { Store } from '../stores/store.ts'
import { lineName } from './line.ts'
import type { Sendings } from './turn.ts'
import { TurnQueue } from './turn-queue.ts'
import { type Held, registerWaiters, type Waiters } from './waiters.ts'

const queuesIn = oncePer('queues', (_store: Store) => new Map<string, TurnQueues>())

/** The queues of those who acquire the same states; undefined if none waits, and no answer is awaited. */
export function knownQueues(checks: readonly PolicyCheck[]): TurnQueues | undefined {
  const known = queuesIn(configOf(checks).store)
  return known.size > 0 ? known.get(lineName(checks)) : undefined
}

/** The queues of those who acquire the same states. */
export function queuesFor(checks: readonly PolicyCheck[]): TurnQueues {
  const known = queuesIn(configOf(checks).store)
  const name = lineName(checks)
  let queues = known.get(name)
  if (queues === undefined) {
    queues = new TurnQueues(checks, () => known.delete(name))
    known.set(name, queues)
  }
  return queues
}

/**
 * The queues of those who acquire the same states: one, unless spill policies or failure modes have decided. A store returns
 * all units of the last turn only. So while the turns of acquisitions that have been sent are not known, none is refunded, and
 * until it is, no other acquisition is sent.
 */
export class TurnQueues implements Waiters, Sendings {
  readonly haveTurns = true
  readonly #checks: readonly PolicyCheck[]
  readonly #onEmpty: () => void
  readonly #queues = new Map<string, TurnQueue>()
  #sent = 0
  #changes = 0
  #landings: (() => void)[] = []
  #held: { readonly order: number; readonly send: () => void }[] = []

  constructor(checks: readonly PolicyCheck[], onEmpty: () => void) {
    const unregister = registerWaiters(this, checks)
    this.#checks = checks
    this.#onEmpty = () => {
      unregister()
      onEmpty()
    }
  }

  get sent(): number {
    return this.#sent
  }

  /** Whether acquisitions must wait. */
  get areHeld(): boolean {
    return this.#changes > 0
  }

  /** Resolves when acquisitions may be sent again, in the order of their callers. */
  untilSent(order: number): Promise<void> {
    return new Promise((send) => this.#held.push({ order, send }))
  }

  /** Notes an acquisition that has been sent. */
  send(): void {
    this.#sent += 1
  }

  /** Notes that the turn of one is known, or that it has none. */
  land(): void {
    this.#sent -= 1
    if (this.#sent > 0) return
    for (const landed of this.#landings.splice(0)) landed()
    this.#endIfEmpty()
  }

  /** The queue for the turn of an acquisition: undefined if none waits, and this one need not. */
  queueOf(acquisition: Acquisition, mustWait: boolean): TurnQueue | undefined {
    const name = statesOf(acquisition)
    const known = this.#queues.get(name)
    if (known || !mustWait) return known
    const made = new TurnQueue(this.#checks, this)
    made.onEmpty = () => {
      if (this.#queues.get(name) === made) this.#queues.delete(name)
      this.#endIfEmpty()
    }
    this.#queues.set(name, made)
    return made
  }

  async whileLanded<T>(change: () => Promise<T>): Promise<T> {
    this.#changes += 1
    try {
      if (this.#sent > 0) await new Promise<void>((landed) => this.#landings.push(landed))
      return await change()
    } finally {
      this.#endChange()
    }
  }

  hold(): Held {
    let held: readonly Held[] = []
    this.#changes += 1
    const refunds = this.whileLanded(async () => {
      held = [...this.#queues.values()].map((queue) => queue.hold())
      await Promise.all(held.map((each) => each.refunds))
    })
    const resume = (): void => {
      for (const each of held) each.resume()
      this.#endChange()
    }
    return { refunds, resume }
  }

  async holdIfBlocked(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.holdIfBlocked()))
  }

  #endChange(): void {
    this.#changes -= 1
    if (this.#changes > 0) return
    for (const { send } of this.#held.splice(0).sort((a, b) => a.order - b.order)) send()
    this.#endIfEmpty()
  }

  #endIfEmpty(): void {
    if (this.#queues.size === 0 && this.#sent === 0 && this.#changes === 0) this.#onEmpty()
  }
}

/** Equal for acquisitions of the same states, by the same clock: a store, or this process while it does not answer. */
const statesOf = ({ results }: Acquisition): string =>
  JSON.stringify(results.map(({ checks, taken }) => [!taken, checks.map(({ policy: { name }, key }) => [name, key])]))
