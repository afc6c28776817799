import type { Costs, Decision, RateLimiter } from '@spillway/core'
import { List, type Place } from '../queue/list.ts'
import { PRIORITIES } from '../queue/waiter.ts'

/** What is called of a limiter. */
export type WaitingLimiter = Pick<RateLimiter, 'consume' | 'peek' | 'refund' | 'wait'>

/** A caller that waits for units. */
export interface UnitsWaiter {
  readonly cost: number | Costs
  readonly resolve: (decision: Decision) => void
  readonly reject: (reason: unknown) => void
}

/** A wait for units in the limiter. Whose they are is known when they come. */
interface Turn {
  readonly cost: string
  readonly controller: AbortController
}

const idOf = ({ cost }: UnitsWaiter): string => JSON.stringify(cost)

/**
 * The callers in this process that wait for units of one key. Only one wait is sent to the limiter, for as many units as the first
 * caller of the highest priority needs, and its units are given to the caller that is the first when they come. So a caller that comes
 * last overtakes all of lower priorities, and no turn that a store has reserved is lost.
 */
export class Turns {
  readonly #limiter: WaitingLimiter
  readonly #key: string
  readonly #end: () => void
  readonly #tiers: readonly List<UnitsWaiter>[] = PRIORITIES.map(() => new List())
  #turn: Turn | undefined

  /** `end` is called when no caller waits any more. */
  constructor(limiter: WaitingLimiter, key: string, end: () => void) {
    this.#limiter = limiter
    this.#key = key
    this.#end = end
  }

  /** Adds a caller. Returns the function with which it leaves. */
  join(tier: number, waiter: UnitsWaiter): () => void {
    const list = this.#tiers[tier] as List<UnitsWaiter>
    const place = list.add(waiter)
    this.#update()
    return () => {
      list.remove(place)
      this.#update()
    }
  }

  #first(): readonly [List<UnitsWaiter>, Place<UnitsWaiter>] | undefined {
    for (const list of this.#tiers) if (list.first) return [list, list.first]
    return undefined
  }

  /** Waits for as many units as the first caller needs. */
  #update(): void {
    const first = this.#first()?.[1].value
    const cost = first && idOf(first)
    if (this.#turn?.cost === cost) return
    this.#turn?.controller.abort()
    this.#turn = undefined
    if (first === undefined || cost === undefined) {
      this.#end()
      return
    }
    const turn: Turn = { cost, controller: new AbortController() }
    this.#turn = turn
    void this.#limiter.wait(this.#key, { cost: first.cost, signal: turn.controller.signal }).then(
      (decision) => this.#serve(turn, first.cost, decision),
      (error: unknown) => this.#fail(turn, error),
    )
  }

  #serve(turn: Turn, cost: number | Costs, decision: Decision): void {
    if (this.#turn === turn) this.#turn = undefined
    const first = this.#first()
    if (first && idOf(first[1].value) === turn.cost) {
      first[0].remove(first[1])
      first[1].value.resolve(decision)
    }
    // It was aborted when its units had come. A store that fails has reported it.
    else void this.#limiter.refund(this.#key, cost).catch(() => {})
    this.#update()
  }

  #fail(turn: Turn, error: unknown): void {
    if (this.#turn !== turn) return
    this.#turn = undefined
    const first = this.#first()
    first?.[0].remove(first[1])
    first?.[1].value.reject(error)
    this.#update()
  }
}
