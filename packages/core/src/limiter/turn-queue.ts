import { setLongTimeout } from '../common/long-timeout.ts'
import { type ListItem, SortedList } from '../common/sorted-list.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import { rollback } from '../policies/correct.ts'
import type { Acquisition, PolicyCheck } from '../policies/policy.ts'
import { isBlockedByHand } from './blocked.ts'
import type { Caller } from './caller.ts'
import { turnOf, unitsOf, withTurn } from './turn.ts'

/** What a timer cannot tell apart. */
const TIMER_MICROS: Micros = 1_000

/** The acquisitions that have been sent, and whose turns are not known yet. */
export interface Sent {
  /** Whether there are any. */
  readonly areSent: boolean
  /** Refunds turns once there are none. Until it has, no other is sent. */
  refund(refund: () => Promise<unknown>): Promise<undefined>
}

/** A turn that this process has reserved; its rank is when it comes, by the clocks of the stores, which order turns exactly. */
interface Turn {
  readonly acquisition: Acquisition
  readonly units: Units
  readonly dueMs: number
}

/** A caller in the queue; its rank is when the turn of its acquisition comes: its own turn comes then, or before. */
interface Member {
  readonly caller: Caller
  readonly acquisition: Acquisition
  /** Ends the wait. */
  readonly serve: (acquisition: Acquisition | undefined) => void
  /** Leaves without its turn. */
  readonly leave: () => void
}

/**
 * The callers that wait for equal units, in the order of their turns: the first caller has the first turn, even if others have
 * left before. So those of the turns that are left over are the last.
 */
interface Units {
  readonly members: SortedList<Member>
  unused: number
}

/** The turns that callers in this process wait for, of the same states, in their order. There is one timer, of the first turn. */
export class TurnQueue {
  readonly #turns = new SortedList<Turn>()
  readonly #units = new Map<string, Units>()
  readonly #members = new Set<Member>()
  readonly #checks: readonly PolicyCheck[]
  readonly #sent: Sent
  /** The turn that the timer is of. */
  #next: ListItem<Turn> | undefined
  #stopTimer = (): void => {}

  constructor(checks: readonly PolicyCheck[], sent: Sent) {
    this.#checks = checks
    this.#sent = sent
  }

  get isEmpty(): boolean {
    return this.#turns.first === undefined
  }

  /**
   * Resolves at the caller's turn; with undefined if it has left or lost it. A turn in the middle cannot be refunded, because
   * later turns depend on it. So when a caller leaves, those behind move up by one turn each, and the last turn is refunded, once
   * no turn of other units is behind it.
   */
  async join(acquisition: Acquisition, caller: Caller): Promise<Acquisition | undefined> {
    const name = unitsOf(acquisition)
    const units = this.#units.get(name) ?? { members: new SortedList(), unused: 0 }
    this.#units.set(name, units)
    const { rank } = this.#addTurn(acquisition, units)
    let stop = (): void => {}
    try {
      return await new Promise((serve) => {
        const leave = (): void => {
          this.#remove(item, units)
          units.unused += 1
        }
        const member: Member = { caller, acquisition, serve, leave }
        const item = units.members.add(rank, member)
        this.#members.add(member)
        this.#startTimer()
        stop = caller.onCall(() => {
          if (!caller.hasLeft || !this.#members.has(member)) return
          leave()
          serve(this.#refundLast())
        })
      })
    } finally {
      stop()
    }
  }

  /** Answers may overtake each other, and a reset by another process starts again: turns are sorted. */
  #addTurn(acquisition: Acquisition, units: Units): ListItem<Turn> {
    const own = turnOf(acquisition)
    const before = this.#turns.lastUntil(own + TIMER_MICROS)
    const dueMs = Math.max(monotonicMs() + acquisition.decision.delayMs, before?.value.dueMs ?? 0)
    return this.#turns.add(Math.max(own, before?.rank ?? 0), { acquisition, units, dueMs })
  }

  /** Callers lose their turns, which are refunded: all, or only those who wait in line from then on. */
  release(onlyInLine: boolean): Promise<unknown> {
    const members = [...this.#members]
      .filter(({ caller }) => !onlyInLine || caller.maxWaitMicros !== undefined)
      .sort((a, b) => a.caller.order - b.caller.order)
    for (const { leave } of members) leave()
    const refunds = this.#refundLast()
    for (const { caller, serve } of members) {
      if (caller.maxWaitMicros !== undefined) caller.join()
      serve(undefined)
    }
    return refunds
  }

  /** Refunds the turns at the end that are unused, once none may be behind them. */
  #refundLast(): Promise<undefined> {
    return this.#sent.refund(() => {
      const refunds: Promise<void>[] = []
      for (let { last } = this.#turns; last && last.value.units.unused > 0; last = this.#turns.last) {
        this.#removeUnused(last)
        refunds.push(rollback(last.value.acquisition))
      }
      this.#startTimer()
      return Promise.all(refunds)
    })
  }

  /** Starts the timer of the next turn, unless it has been. */
  #startTimer(next = this.#turns.first): void {
    if (next === this.#next) return
    this.#next = next
    this.#stopTimer()
    if (!next) return
    const { dueMs } = next.value
    // A timer may fire a moment early.
    const serve = (): void => void this.#serveUntil(Math.max(monotonicMs(), dueMs))
    this.#stopTimer = setLongTimeout(Math.max(dueMs - monotonicMs(), 0), serve)
  }

  /** Looks for a block once for all whose turn has come, and before later ones: none goes on while one before is held. */
  async #serveUntil(nowMs: number): Promise<void> {
    const isBlocked = await isBlockedByHand(this.#checks)
    if (isBlocked) void this.release(true).catch(() => {})
    let item = this.#turns.first
    let isKept = false
    for (; item && item.value.dueMs <= nowMs; item = item.after) {
      const { acquisition, units } = item.value
      const { first } = units.members
      if (first) {
        this.#turns.remove(item)
        this.#remove(first, units)
        const { serve, acquisition: own } = first.value
        if (isBlocked) void refund(acquisition).then(serve)
        else serve(withTurn(own, acquisition))
      } else if (this.#sent.areSent) isKept = true
      else {
        this.#removeUnused(item)
        void refund(acquisition)
      }
    }
    this.#startTimer(item)
    // A caller whose turn is not known yet has it.
    if (isKept) void this.#refundLast().catch(() => {})
  }

  #remove(item: ListItem<Member>, { members }: Units): void {
    this.#members.delete(item.value)
    members.remove(item)
  }

  #removeUnused(turn: ListItem<Turn>): void {
    this.#turns.remove(turn)
    turn.value.units.unused -= 1
  }
}

async function refund(acquisition: Acquisition): Promise<undefined> {
  await rollback(acquisition).catch(() => {})
}
