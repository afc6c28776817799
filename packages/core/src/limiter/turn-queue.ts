import { LinkedList, type ListItem } from '../common/linked-list.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import { rollback } from '../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { canBlock, isBlockedByHand } from './block.ts'
import { turnOf, unitsOf, withTurn } from './turn.ts'
import type { Waiters } from './waiters.ts'

/** A turn that this process has reserved. */
interface Turn {
  readonly acquisition: Acquisition
  readonly units: Units
  /** By the clocks of the stores, which order turns exactly: answers arrive with a delay each. */
  readonly at: Micros
  readonly dueMs: number
  /** Whether its caller has left, and no caller of equal units has it instead. */
  isUnused: boolean
}

/** A caller that waits for its turn. */
interface Caller {
  readonly acquisition: Acquisition
  /** Called at its turn; with undefined if it has lost it: it acquires again. */
  readonly serve: (acquisition: Acquisition | undefined) => void
  /** Keeps its place while its key is blocked; undefined if it acquires again at its turn. */
  readonly hold: (() => void) | undefined
}

/** A caller in the queue. */
interface Member extends Caller {
  /** Leaves without its turn. */
  readonly leave: () => void
}

/**
 * The callers that wait for equal units, and as many turns, both in their order: the first caller has the first turn, whichever
 * of the two has left or been refunded before.
 */
interface Units {
  readonly name: string
  readonly callers: LinkedList<Member>
  readonly turns: LinkedList<ListItem<Turn>>
}

/** What a timer cannot tell apart. */
const TIMER_MICROS: Micros = 1_000

/** The turns that callers in this process wait for, of the same states, in their order. There is one timer, of the first turn. */
export class TurnQueue implements Waiters {
  readonly haveTurns = true
  readonly #turns = new LinkedList<Turn>()
  readonly #units = new Map<string, Units>()
  /** In the order of their calls. */
  readonly #members = new Set<Member>()
  readonly #canBeBlocked: boolean
  readonly #checks: readonly PolicyCheck[]
  #stopTimer = (): void => {}
  onEmpty = (): void => {}

  constructor(checks: readonly PolicyCheck[]) {
    this.#checks = checks
    this.#canBeBlocked = checks.some(({ policy }) => canBlock(policy))
  }

  /** Whether an acquisition's turn is after all others, and not of a state that has been reset meanwhile. */
  accepts(acquisition: Acquisition): boolean {
    return turnOf(acquisition) + TIMER_MICROS >= (this.#turns.last?.value.at ?? 0)
  }

  /**
   * Calls `serve` when it is the caller's turn. Returns the function with which the caller leaves: a turn in the middle cannot
   * be refunded, because later turns depend on it. So those behind move up by one turn each, and the last turn is refunded, once
   * no turn of other units is behind it.
   */
  join(caller: Caller): () => Promise<void> {
    const { acquisition } = caller
    const last = this.#turns.last?.value
    const at = Math.max(turnOf(acquisition), last?.at ?? 0)
    const dueMs = Math.max(monotonicMs() + acquisition.decision.delayMs, last?.dueMs ?? 0)
    const name = unitsOf(acquisition)
    const units = this.#units.get(name) ?? { name, callers: new LinkedList(), turns: new LinkedList() }
    this.#units.set(name, units)
    const leave = (): void => {
      const unused = units.turns.last
      if (unused === undefined) return
      this.#leave(item, unused, units)
      unused.value.value.isUnused = true
    }
    const member: Member = { ...caller, leave }
    const item = units.callers.add(member)
    this.#members.add(member)
    units.turns.add(this.#turns.add({ acquisition, units, at, dueMs, isUnused: false }))
    if (last === undefined) this.#startTimer()
    return async () => {
      if (!this.#members.has(member)) return
      leave()
      await this.#refundLast()
    }
  }

  hold(): { readonly refunds: Promise<unknown>; readonly resume: () => void } {
    const members = [...this.#members]
    const refunds = this.#release(members)
    const resume = (): void => {
      for (const { serve } of members.filter(({ hold }) => !hold)) serve(undefined)
    }
    return { refunds, resume }
  }

  async holdIfBlocked(): Promise<void> {
    if (this.#canBeBlocked && (await isBlockedByHand(this.#checks))) await this.#releaseHeld()
  }

  async #releaseHeld(): Promise<void> {
    await this.#release([...this.#members].filter(({ hold }) => hold)).catch(() => {})
  }

  /** Members lose their turns. Those who keep their places meanwhile are in front of all others. */
  #release(members: readonly Member[]): Promise<unknown> {
    for (const { leave } of members) leave()
    const refunds = this.#refundLast()
    for (const { hold } of [...members].reverse()) hold?.()
    for (const { hold, serve } of members) if (hold) serve(undefined)
    return refunds
  }

  /** Refunds the turns at the end that are unused. */
  #refundLast(): Promise<unknown> {
    const refunds: Promise<void>[] = []
    let { last } = this.#turns
    while (last?.value.isUnused) {
      this.#turns.remove(last)
      refunds.push(rollback(last.value.acquisition))
      last = this.#turns.last
    }
    if (last === undefined) this.#end()
    return Promise.all(refunds)
  }

  #startTimer(): void {
    const dueMs = this.#turns.first?.value.dueMs ?? 0
    this.#stopTimer = setLongTimeout(Math.max(dueMs - monotonicMs(), 0), () => {
      // A timer may fire a moment early.
      const nowMs = Math.max(monotonicMs(), dueMs)
      if (this.#canBeBlocked) void this.#serveUnlessBlocked(nowMs)
      else this.#serveUntil(nowMs, false)
    })
  }

  /** Looks once for all whose turn has come, and before later ones: none goes on while one before is held. */
  async #serveUnlessBlocked(nowMs: number): Promise<void> {
    const isBlocked = await isBlockedByHand(this.#checks)
    if (isBlocked) void this.#releaseHeld()
    this.#serveUntil(nowMs, isBlocked)
  }

  #serveUntil(nowMs: number, isBlocked: boolean): void {
    let { first } = this.#turns
    while (first && first.value.dueMs <= nowMs) {
      this.#turns.remove(first)
      this.#serve(first.value, isBlocked)
      first = this.#turns.first
    }
    if (first) this.#startTimer()
    else this.#end()
  }

  #serve({ acquisition, units, isUnused }: Turn, isBlocked: boolean): void {
    const refund = (): Promise<void> => rollback(acquisition).catch(() => {})
    const [turn, caller] = [units.turns.first, units.callers.first]
    if (isUnused) void refund()
    else if (turn && caller) {
      this.#leave(caller, turn, units)
      const { serve, acquisition: own } = caller.value
      if (isBlocked) void refund().then(() => serve(undefined))
      else serve(withTurn(own, acquisition))
    }
  }

  #leave(caller: ListItem<Member>, turn: ListItem<ListItem<Turn>>, { name, callers, turns }: Units): void {
    this.#members.delete(caller.value)
    callers.remove(caller)
    turns.remove(turn)
    if (turns.first === undefined) this.#units.delete(name)
  }

  #end(): void {
    this.#stopTimer()
    this.onEmpty()
  }
}
