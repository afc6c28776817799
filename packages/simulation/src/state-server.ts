import type { Micros, State } from '@spillway/core'
import type { Keyspace } from './batches.ts'
import { START, type World } from './runtime/world.ts'

interface Stored {
  readonly state: State
  readonly expiresAt: Micros
}

interface Change {
  readonly at: number
  readonly name: string
  readonly before: Stored | undefined
}

/** What an observer of a server learns: every write, at the time of the world and of the server's clock. */
export interface ServerObserver {
  wrote(server: StateServer, name: string, state: State | undefined): void
  /** States were lost: of one key, or of all. `refunds` is how many ticks of refunds were lost with the state of a key. */
  lost(server: StateServer, name?: string, refunds?: number): void
  /** An expired state was deleted. */
  swept(server: StateServer, name: string, state: State): void
}

const MINUTE = 60_000_000

/** How long changes are kept for a failover, in microseconds. */
const LONGEST_LAG = 2_000_000

/** A server with a clock and states. It runs the TypeScript kernels, which the conformance suite holds equal to its own. */
export abstract class StateServer implements Keyspace {
  readonly name: string
  isUp = true
  frozenUntil = 0
  /** Commands executed since the start. */
  commands = 0
  protected readonly world: World
  readonly #observer: ServerObserver
  readonly #states = new Map<string, Stored>()
  readonly #changes: Change[] = []
  #clockStep = 0

  constructor(world: World, name: string, observer: ServerObserver) {
    this.world = world
    this.name = name
    this.#observer = observer
  }

  /** The name of the state of a key and a policy. */
  abstract nameOf(key: string, policy?: string): string

  now(): Micros {
    return START + this.world.now + this.#clockStep
  }
  read(name: string): State | undefined {
    const stored = this.#states.get(name)
    return stored && this.isKept(stored.expiresAt) ? stored.state : undefined
  }
  write(name: string, state: State, emptyAt: Micros, now: Micros): void {
    this.#set(name, { state, expiresAt: this.expiryOf(emptyAt, now, this.#states.get(name)?.expiresAt) })
  }
  protected isKept(expiresAt: Micros): boolean {
    return expiresAt > this.now()
  }
  protected expiryOf(emptyAt: Micros, now: Micros, _present?: Micros): Micros {
    return Math.max(emptyAt, now) + MINUTE
  }
  delete(name: string): void {
    this.#set(name, undefined)
  }
  names(): readonly string[] {
    return [...this.#states.keys()]
  }
  /** When a state expires; undefined if there is none. */
  expiresAt(name: string): Micros | undefined {
    return this.#states.get(name)?.expiresAt
  }
  /** Deletes expired states, those first that expired first, and returns how many. */
  protected sweepStates(most: number, isLocked: (name: string) => boolean): number {
    const due = [...this.#states].filter(([name, { expiresAt }]) => expiresAt < this.now() && !isLocked(name))
    const first = due.sort(([, a], [, b]) => a.expiresAt - b.expiresAt).slice(0, most)
    for (const [name, { state }] of first) {
      this.#states.delete(name)
      this.#observer.swept(this, name, state)
    }
    return first.length
  }
  #set(name: string, stored: Stored | undefined): void {
    const at = this.world.now
    this.#changes.push({ at, name, before: this.#states.get(name) })
    while ((this.#changes[0] as Change).at < at - LONGEST_LAG) this.#changes.shift()
    if (stored) this.#states.set(name, stored)
    else this.#states.delete(name)
    this.#observer.wrote(this, name, stored?.state)
  }

  // Faults.

  stepClock(micros: number): void {
    this.#clockStep += micros
  }
  /** Stops the server. */
  kill(): void {
    this.isUp = false
  }
  restart(): void {
    this.isUp = true
    this.frozenUntil = 0
  }
  /** Promotes a replica that has not received the writes of the last `lag` microseconds. */
  failOver(lag: number): void {
    const changes = this.#changes.splice(0).filter(({ at }) => at >= this.world.now - lag)
    const refunds = new Map<string, number>()
    // In reverse order: each change is undone, the oldest one of a name last.
    for (const { name, before } of changes.reverse()) {
      const refunded = Math.max(fullAt(before?.state) - fullAt(this.#states.get(name)?.state), 0)
      refunds.set(name, (refunds.get(name) ?? 0) + refunded)
      if (before) this.#states.set(name, before)
      else this.#states.delete(name)
    }
    for (const [name, ticks] of refunds) this.#observer.lost(this, name, this.#states.has(name) ? ticks : 0)
  }
  /** Loses the states that `isLost` draws: they are evicted or deleted. */
  evict(isLost: () => boolean): void {
    for (const name of this.names().filter(isLost)) {
      this.#states.delete(name)
      this.#observer.lost(this, name)
    }
  }
  protected loseAll(): void {
    this.#states.clear()
    this.#changes.length = 0
    this.#observer.lost(this)
  }
}

/** When a bucket is full again. */
function fullAt(state: State | undefined): Micros {
  if (typeof state === 'number') return Math.abs(state)
  return state && 'tat' in state ? Math.abs(state.tat) : 0
}
