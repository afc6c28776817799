import { oncePer } from '../common/once-per.ts'
import { SortedList } from '../common/sorted-list.ts'
import type { Micros } from '../common/time.ts'
import { acquire } from '../policies/acquisition.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { configOf } from '../policies/policy-of.ts'
import type { StateKey, Store } from '../stores/store.ts'
import { isBlockedByHand } from './blocked.ts'
import type { Caller } from './caller.ts'
import { type Sent, TurnQueue } from './turn-queue.ts'

type State = Pick<PolicyCheck, 'policy' | 'key'>

/** The callers that wait for a state of a store, by its name; there by the names of all states that they wait for. */
const callersIn = oncePer('callers', (_store: Store) => new Map<string, Map<string, Callers>>())

const stateName = (policy: string, key: string): string => JSON.stringify([policy, key])

const nameOf = ({ policy, key }: State): string => stateName(policy.name, key)

/** Those who wait for a state. */
export const callersFor = (store: Store, { policy, key }: StateKey): readonly Callers[] => [
  ...(callersIn(store).get(stateName(policy, key))?.values() ?? []),
]

/** Those who wait for the states of checks. */
export const callersOf = (checks: readonly State[]): readonly Callers[] =>
  checks.flatMap(({ policy, key }) => callersFor(policy.storeConfig.store, { policy: policy.name, key }))

/** Those who wait for states of these policies. */
export const callersOfAll = (store: Store, policies: readonly string[]): readonly Callers[] =>
  [...callersIn(store)].flatMap(([name, all]) => (policies.includes(JSON.parse(name)[0]) ? [...all.values()] : []))

/** Changes states while those who wait for them are held, and acquire again after it, unless they keep their turns. */
export async function whileHeld<T>(found: readonly Callers[], change: () => Promise<T>, keepTurns = false): Promise<T> {
  const all = [...new Set(found)]
  const resumes = all.map((callers) => callers.hold())
  try {
    if (all.length > 0 && !keepTurns) await Promise.allSettled(all.map((callers) => callers.release()))
    return await change()
  } finally {
    for (const resume of resumes) resume()
  }
}

/** An answer of the stores. */
export interface Answer {
  readonly acquisition: Acquisition
  /** Resolves at its turn with the acquisition; with undefined if the caller has left, or lost its turn. */
  readonly turn?: Promise<Acquisition | undefined> | undefined
}

/** The callers in this process that wait for the same states as one that comes, who must exit in the end. */
export function enter(checks: readonly PolicyCheck[]): Callers {
  const name = checks.map(nameOf).join()
  const known = callersIn(configOf(checks).store)
    .get(nameOf(checks[0] as PolicyCheck))
    ?.get(name)
  const callers = known ?? new Callers(name, checks)
  callers.count += 1
  return callers
}

/**
 * The callers in this process that wait for the same states. A store returns all units of the last turn only. So while the turns
 * of acquisitions that have been sent are not known, none is refunded, and until it is, no other acquisition is sent.
 */
export class Callers implements Sent {
  readonly line: SortedList<Caller> = new SortedList()
  /** How many there are. */
  count = 0
  readonly #name: string
  readonly #checks: readonly PolicyCheck[]
  /** One, unless spill policies or failure modes have decided. */
  readonly #queues = new Map<string, TurnQueue>()
  #sent = 0
  #landings: (() => void)[] = []
  #holds = 0

  constructor(name: string, checks: readonly PolicyCheck[]) {
    this.#name = name
    this.#checks = checks
    for (const state of checks) {
      const known = callersIn(state.policy.storeConfig.store)
      const all = known.get(nameOf(state)) ?? new Map<string, Callers>()
      known.set(nameOf(state), all.set(name, this))
    }
  }

  exit(): void {
    this.count -= 1
    if (this.count > 0) return
    for (const state of this.#checks) {
      const known = callersIn(state.policy.storeConfig.store)
      const all = known.get(nameOf(state))
      if (all?.delete(this.#name) && all.size === 0) known.delete(nameOf(state))
    }
  }

  get areSent(): boolean {
    return this.#sent > 0
  }

  /** Whether none may send. */
  get areHeld(): boolean {
    return this.#holds > 0
  }

  /** Acquires for a caller. */
  async send(caller: Caller, maxWaitMicros: Micros): Promise<Answer> {
    this.#sent += 1
    try {
      const answer = acquire(
        'consume',
        caller.checks,
        caller.maxWaitMicros === undefined ? undefined : { maxWaitMicros },
      )
      const acquisition = answer instanceof Promise ? await answer : answer
      return { acquisition, turn: this.#turnOf(acquisition, caller) }
    } finally {
      this.#sent -= 1
      if (!this.areSent) for (const landed of this.#landings.splice(0)) landed()
    }
  }

  /**
   * The turn of an acquisition, if its caller must wait: its turn is later than now, or callers before wait for turns that have
   * come. While the event loop is blocked, no timer serves them. Or the caller has left, and others have been sent.
   */
  #turnOf(acquisition: Acquisition, caller: Caller): Promise<Acquisition | undefined> | undefined {
    const { allowed, delayMs } = acquisition.decision
    if (!allowed) return undefined
    if (this.#sent > 1) caller.listen()
    const mustWait = delayMs > 0 || caller.hasLeft
    const name = statesOf(acquisition)
    const queue = this.#queues.get(name) ?? new TurnQueue(this.#checks, this)
    this.#queues.set(name, queue)
    return mustWait || !queue.isEmpty ? queue.join(acquisition, caller) : undefined
  }

  async refund(refund: () => Promise<unknown>): Promise<undefined> {
    const resume = this.hold()
    try {
      if (this.areSent) await new Promise<void>((landed) => this.#landings.push(landed))
      await refund()
      return undefined
    } finally {
      resume()
    }
  }

  /** Lets none send until the function returned is called. */
  hold(): () => void {
    this.#holds += 1
    this.count += 1
    return () => {
      this.#holds -= 1
      // All look again: those who may go on do, in their order.
      if (!this.areHeld) for (let { first } = this.line; first; first = first.after) first.value.call()
      this.exit()
    }
  }

  /** If a key has been blocked by hand, those lose their turns who wait in line for the end of a block. */
  async releaseIfBlocked(): Promise<void> {
    if ([...this.#queues.values()].every(({ isEmpty }) => isEmpty)) return
    if (await isBlockedByHand(this.#checks)) await this.release(true).catch(() => {})
  }

  /** Callers lose their turns, which are refunded: all, or only those who wait in line from then on. They acquire again. */
  release(onlyInLine = false): Promise<undefined> {
    return this.refund(() => Promise.all([...this.#queues.values()].map((queue) => queue.release(onlyInLine))))
  }
}

/** Equal for acquisitions of the same states, by the same clock: a store, or this process while it does not answer. */
const statesOf = ({ results }: Acquisition): string =>
  JSON.stringify(results.map(({ checks, fallback }) => [!fallback, checks.map(nameOf)]))
