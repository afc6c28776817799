import { AsyncLocalStorage } from 'node:async_hooks'
import type { SlotsTaken, Store, Take } from '@spillway/core'
import type { Entry } from '../entry.ts'
import type { Host } from '../runtime/host.ts'
import type { World } from '../runtime/world.ts'
import type { StateServer } from '../state-server.ts'

/** An answer that the slots are held. */
export interface Confirmation {
  /** When it was asked for: by the server's clock, the slots are held for their `ttl` from then on at least. */
  readonly sentAt: number
  readonly at: number
}

/** Slots that a caller acquires, and all that it knows of them. */
export interface Holding {
  readonly host: Host
  /** Whether its caller learns if they are lost: a request does not. */
  readonly reportsLoss: boolean
  /** The call, when it is answered. */
  entry: Entry | undefined
  /** The first of the slots, by the last answer; 0 if the store has given none. */
  id: number
  confirmations: Confirmation[]
  /** When its caller learnt that they are lost, or asked for their release. */
  lostAt: number | undefined
  releasedAt: number | undefined
}

/** The policy of the slots of a limiter that has a rate, too. */
export const SLOTS = 'slots'

/** The holdings of a run. */
export class Holdings {
  readonly all: Holding[] = []
  readonly #world: World
  /** The holding that a call of a store is for. */
  readonly #current = new AsyncLocalStorage<Holding>()

  constructor(world: World) {
    this.#world = world
  }

  /** Begins a holding, and makes the call that acquires its slots. */
  async acquire(
    host: Host,
    reportsLoss: boolean,
    call: (holding: Holding) => Promise<Entry>,
  ): Promise<{ readonly holding: Holding; readonly entry: Entry }> {
    const holding: Holding = {
      ...{ host, reportsLoss, entry: undefined, id: 0, confirmations: [] },
      ...{ lostAt: undefined, releasedAt: undefined },
    }
    this.all.push(holding)
    const entry = await this.#current.run(holding, () => call(holding))
    holding.entry = entry
    return { holding, entry }
  }

  /** A store that enters which slots it gives to whom, and which are renewed. */
  observed(store: Store, host: Host, server: StateServer): Store {
    const take: Store['take'] = (ops, at, deadline) => {
      const [holding, sentAt] = [this.#current.getStore(), this.#world.now]
      return store.take(ops, at, deadline).then((taken) => {
        for (const [i, op] of ops.entries()) this.#enter(op, taken[i] as SlotsTaken, { host, server, holding, sentAt })
        return taken
      })
    }
    return Object.create(store, { take: { value: take, enumerable: true } })
  }

  #enter(
    { step }: Take,
    { allowed, id }: SlotsTaken,
    {
      host,
      server,
      holding,
      sentAt,
    }: { host: Host; server: StateServer; holding: Holding | undefined; sentAt: number },
  ): void {
    if (step.kernel !== 'slots' || step.increment <= 0 || step.peek || !(id > 0)) return
    const confirmation = { sentAt, at: this.#world.now }
    if (step.id > 0) {
      const isRenewed = (each: Holding): boolean =>
        each.id === step.id && each.host === host && (each.entry?.server ?? server) === server
      this.all.find(isRenewed)?.confirmations.push(confirmation)
    } else if (allowed && holding) Object.assign(holding, { id, confirmations: [confirmation] })
  }
}
