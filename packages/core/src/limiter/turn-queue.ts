import { LinkedList, type ListItem } from '../common/linked-list.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import { rollback } from '../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { canBlock, isBlockedByHand } from './block.ts'
import {
  type Caller,
  lastUntil,
  type Member,
  type Sendings,
  type Turn,
  turnOf,
  type Units,
  unitsOf,
  withTurn,
} from './turn.ts'
import type { Held } from './waiters.ts'

/** What a timer cannot tell apart. */
const TIMER_MICROS: Micros = 1_000

/** The turns that callers in this process wait for, of the same states, in their order. There is one timer, of the first turn. */
export class TurnQueue {
  readonly #turns = new LinkedList<Turn>()
  readonly #units = new Map<string, Units>()
  /** In the order of their calls. */
  readonly #members = new Set<Member>()
  readonly #canBeBlocked: boolean
  readonly #checks: readonly PolicyCheck[]
  readonly #sendings: Sendings
  #stopTimer = (): void => {}
  onEmpty = (): void => {}

  constructor(checks: readonly PolicyCheck[], sendings: Sendings) {
    this.#checks = checks
    this.#sendings = sendings
    this.#canBeBlocked = checks.some(({ policy }) => canBlock(policy))
  }

  /**
   * Calls `serve` when it is the caller's turn. Returns the function with which the caller leaves: a turn in the middle cannot
   * be refunded, because later turns depend on it. So those behind move up by one turn each, and the last turn is refunded, once
   * no turn of other units is behind it.
   */
  join(caller: Caller): () => Promise<unknown> {
    const { acquisition } = caller
    const name = unitsOf(acquisition)
    const units = this.#units.get(name) ?? { name, callers: new LinkedList(), unused: 0 }
    this.#units.set(name, units)
    const turn = this.#addTurn(acquisition, units)
    const leave = (): void => {
      this.#leave(item, units)
      units.unused += 1
    }
    const member: Member = { ...caller, at: turn.value.at, leave }
    const item = units.callers.addAfter(lastUntil(member.at, units.callers), member)
    this.#members.add(member)
    if (turn === this.#turns.first || units.unused > 0) this.#startTimer()
    return async () => {
      if (!this.#members.has(member)) return
      leave()
      await this.#refundLast()
    }
  }

  /** Answers may overtake each other, and a reset by another process starts again: turns are sorted. */
  #addTurn(acquisition: Acquisition, units: Units): ListItem<Turn> {
    const own = turnOf(acquisition)
    const before = lastUntil(own + TIMER_MICROS, this.#turns)
    const at = Math.max(own, before?.value.at ?? 0)
    const dueMs = Math.max(monotonicMs() + acquisition.decision.delayMs, before?.value.dueMs ?? 0)
    return this.#turns.addAfter(before, { acquisition, units, at, dueMs })
  }

  hold(): Held {
    const members = this.#inOrder()
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
    await this.#release(this.#inOrder().filter(({ hold }) => hold)).catch(() => {})
  }

  #inOrder(): readonly Member[] {
    return [...this.#members].sort((a, b) => a.order - b.order)
  }

  /** Members lose their turns. Those who keep their places meanwhile are in front of all others. */
  #release(members: readonly Member[]): Promise<unknown> {
    for (const { leave } of members) leave()
    const refunds = this.#refundLast()
    for (const { hold } of [...members].reverse()) hold?.()
    for (const { hold, serve } of members) if (hold) serve(undefined)
    return refunds
  }

  /** Refunds the turns at the end that are unused, once none may be behind them. */
  #refundLast(isKept = false): Promise<unknown> {
    return this.#sendings.whileLanded(() => {
      const refunds: Promise<void>[] = []
      let { last } = this.#turns
      while (last && last.value.units.unused > 0) {
        this.#removeUnused(last)
        refunds.push(rollback(last.value.acquisition))
        last = this.#turns.last
      }
      if (isKept || last === undefined) this.#startTimer()
      return Promise.all(refunds)
    })
  }

  /** Starts the timer of the first turn. */
  #startTimer(first = this.#turns.first): void {
    this.#stopTimer()
    if (this.#turns.first === undefined) this.onEmpty()
    if (first === undefined) return
    const { dueMs } = first.value
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
    let item = this.#turns.first
    let isKept = false
    for (; item && item.value.dueMs <= nowMs; item = item.after) {
      const { acquisition, units } = item.value
      const caller = units.callers.first
      if (caller) {
        this.#turns.remove(item)
        this.#leave(caller, units)
        this.#serve(caller.value, acquisition, isBlocked)
      } else if (this.#sendings.sent > 0) isKept = true
      else {
        this.#removeUnused(item)
        void refund(acquisition)
      }
    }
    this.#startTimer(item)
    // A caller whose turn is not known yet has it.
    if (isKept) void this.#refundLast(true).catch(() => {})
  }

  #serve({ serve, acquisition: own }: Member, acquisition: Acquisition, isBlocked: boolean): void {
    if (isBlocked) void refund(acquisition).then(() => serve(undefined))
    else serve(withTurn(own, acquisition))
  }

  #leave(caller: ListItem<Member>, { callers }: Units): void {
    this.#members.delete(caller.value)
    callers.remove(caller)
  }

  #removeUnused(turn: ListItem<Turn>): void {
    this.#turns.remove(turn)
    turn.value.units.unused -= 1
  }
}

const refund = (acquisition: Acquisition): Promise<void> => rollback(acquisition).catch(() => {})
