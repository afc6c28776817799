import type { State } from '@spillway/core'
import type { Effect } from './batches.ts'
import type { Entry } from './entry.ts'
import type { LostEffect } from './network.ts'
import type { Host } from './runtime/host.ts'
import type { World } from './runtime/world.ts'
import { Holdings } from './slots/holdings.ts'
import type { ServerObserver, StateServer } from './state-server.ts'

export type { Entry } from './entry.ts'

/** What happened to a key in a server, or to all of its keys. */
export interface KeyEvent {
  readonly at: number
  readonly server: StateServer
  /** The name in the server; undefined for all. */
  readonly name: string | undefined
}

/** A call that returns the leases of a store. */
interface Release {
  readonly server: StateServer
  readonly calledAt: number
  endedAt: number | undefined
}

/** An expired state that was deleted. */
export interface Sweep {
  readonly server: StateServer
  readonly name: string
  /** The server's clock. */
  readonly clock: number
  readonly state: State
}

export interface Write extends KeyEvent {
  /** The server's clock. */
  readonly clock: number
  readonly state: State | undefined
}

/** A command that a process has given its client to send. */
export interface Sent {
  readonly at: number
  readonly host: Host
  readonly server: StateServer
  /** What it would consume or refund. */
  readonly intents: readonly Effect[]
}

/** Everything that the properties are checked on. */
export class Ledger implements ServerObserver {
  readonly entries: Entry[] = []
  readonly writes: Write[] = []
  /** States that servers have lost, and how many ticks of refunds with them. */
  readonly losses: (KeyEvent & { readonly refunds: number })[] = []
  /** Connections that could not be opened. */
  readonly unopened: { readonly at: number; readonly host: Host; readonly server: StateServer }[] = []
  readonly sweeps: Sweep[] = []
  /** Calls of `release`. */
  readonly releases: Release[] = []
  readonly sent: Sent[] = []
  readonly lostEffects: LostEffect[] = []
  /** Steps of clocks of servers and of processes' wall clocks. */
  readonly steps: { readonly at: number; readonly of: object; readonly micros: number }[] = []
  /** When processes were killed. */
  readonly killed: Map<Host, number> = new Map()
  /** Slots that callers acquire. */
  readonly holdings: Holdings
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.holdings = new Holdings(world)
  }

  wrote(server: StateServer, name: string, state: State | undefined): void {
    this.writes.push({ at: this.#world.now, clock: server.now(), server, name, state })
  }
  lost(server: StateServer, name?: string, refunds = 0): void {
    this.losses.push({ at: this.#world.now, server, name, refunds })
    const names = name === undefined ? new Set(this.writes.map((write) => write.name)) : [name]
    for (const each of names) this.wrote(server, each as string, server.read(each as string))
  }
  swept(server: StateServer, name: string, state: State): void {
    this.sweeps.push({ server, name, clock: server.now(), state })
  }

  /** Begins an entry for a call that is being made. */
  begin(of: Pick<Entry, 'verb' | 'host' | 'handle' | 'server' | 'key' | 'name' | 'cost' | 'quota' | 'mayLast'>): Entry {
    const { verb, host, handle, server, key, name, cost, quota, mayLast } = of
    const entry: Entry = {
      verb,
      host,
      handle,
      server,
      key,
      name,
      cost,
      quota,
      calledAt: this.#world.now,
      stalledBefore: host.stalled,
      mayLast,
      answeredAt: undefined,
      stalled: 0,
      decision: undefined,
      error: undefined,
      kept: 0,
      turnAt: 0,
      refundedAt: undefined,
      refundAnsweredAt: undefined,
      retryOf: undefined,
      listed: undefined,
    }
    this.entries.push(entry)
    return entry
  }
  answered(entry: Entry): void {
    entry.answeredAt = this.#world.now
    entry.stalled = entry.host.stalled - entry.stalledBefore
    entry.turnAt = entry.answeredAt + (entry.decision?.delayMs ?? 0) * 1000
  }
}

/** Whether an answer is the store's own. */
export const isByStore = ({ decision }: Entry): boolean => decision !== undefined && decision.degraded === undefined
