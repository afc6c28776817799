import { rollback } from '../checks/correct.ts'
import { LinkedList, type ListItem } from '../common/linked-list.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { Acquisition, PolicyCheck, StoreResult } from '../policies/policy.ts'

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

interface Caller {
  readonly acquisition: Acquisition
  readonly serve: (acquisition: Acquisition) => void
}

/**
 * The callers that wait for equal units, and as many turns, both in their order: the first caller has the first turn, whichever
 * of the two has left or been refunded before.
 */
interface Units {
  readonly name: string
  readonly callers: LinkedList<Caller>
  readonly turns: LinkedList<ListItem<Turn>>
}

/** What a timer cannot tell apart. */
const TIMER_MICROS: Micros = 1_000

/** The turns that callers in this process wait for, of the same states, in their order. There is one timer, of the first turn. */
export class TurnQueue {
  readonly #turns = new LinkedList<Turn>()
  readonly #units = new Map<string, Units>()
  readonly #onEmpty: () => void
  #stopTimer = (): void => {}

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty
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
  join(acquisition: Acquisition, serve: Caller['serve']): () => Promise<void> {
    const last = this.#turns.last?.value
    const at = Math.max(turnOf(acquisition), last?.at ?? 0)
    const dueMs = Math.max(monotonicMs() + acquisition.decision.delayMs, last?.dueMs ?? 0)
    const name = unitsOf(acquisition)
    const units = this.#units.get(name) ?? { name, callers: new LinkedList(), turns: new LinkedList() }
    this.#units.set(name, units)
    let isWaiting = true
    const caller = units.callers.add({
      acquisition,
      serve: (served) => {
        isWaiting = false
        serve(served)
      },
    })
    units.turns.add(this.#turns.add({ acquisition, units, at, dueMs, isUnused: false }))
    if (last === undefined) this.#startTimer()
    return async () => {
      if (!isWaiting) return
      isWaiting = false
      const unused = units.turns.last
      if (unused === undefined) return
      this.#leave(caller, unused, units)
      unused.value.value.isUnused = true
      const refunds = this.#refundLast()
      if (this.#turns.first === undefined) this.#end()
      await Promise.all(refunds)
    }
  }

  /** Refunds the turns at the end that are unused. */
  #refundLast(): readonly Promise<void>[] {
    const refunds: Promise<void>[] = []
    let { last } = this.#turns
    while (last?.value.isUnused) {
      this.#turns.remove(last)
      refunds.push(rollback(last.value.acquisition))
      last = this.#turns.last
    }
    return refunds
  }

  #startTimer(): void {
    const dueMs = this.#turns.first?.value.dueMs ?? 0
    this.#stopTimer = setLongTimeout(Math.max(dueMs - monotonicMs(), 0), () => this.#serveUntil(dueMs))
  }

  #serveUntil(dueMs: number): void {
    // A timer may fire a moment early.
    const nowMs = Math.max(monotonicMs(), dueMs)
    let { first } = this.#turns
    while (first && first.value.dueMs <= nowMs) {
      this.#turns.remove(first)
      this.#serve(first.value)
      first = this.#turns.first
    }
    if (first) this.#startTimer()
    else this.#end()
  }

  #serve({ acquisition, units, isUnused }: Turn): void {
    const [turn, caller] = [units.turns.first, units.callers.first]
    if (isUnused) rollback(acquisition).catch(() => {})
    else if (turn && caller) {
      this.#leave(caller, turn, units)
      caller.value.serve(withTurn(caller.value.acquisition, acquisition))
    }
  }

  #leave(caller: ListItem<Caller>, turn: ListItem<ListItem<Turn>>, { name, callers, turns }: Units): void {
    callers.remove(caller)
    turns.remove(turn)
    if (turns.first === undefined) this.#units.delete(name)
  }

  #end(): void {
    this.#stopTimer()
    this.#onEmpty()
  }
}

/** Equal for acquisitions of the same states whose units can be exchanged. */
const unitsOf = ({ results }: Acquisition): string =>
  JSON.stringify(
    results.map(({ checks, taken }) => [taken === undefined, checks.map(({ policy, cost }) => [policy.quota, cost])]),
  )

/** When the turn of an acquisition comes. */
function turnOf({ results }: Acquisition): Micros {
  const turns = results.map(({ decisions, taken }) => {
    const delay = Math.max(...decisions.map(({ delayMs }) => delayMs))
    return Math.round((taken?.[0]?.now ?? monotonicMs() * 1000) + delay * 1000)
  })
  return Math.max(...turns)
}

/** A caller's acquisition with the units of another turn, which are of equal checks. */
function withTurn(acquisition: Acquisition, turn: Acquisition): Acquisition {
  if (turn === acquisition) return acquisition
  const results = acquisition.results.map((own, i) => withUnits(own, turn.results[i] as StoreResult))
  return { ...acquisition, results }
}

function withUnits({ checks, decisions }: StoreResult, theirs: StoreResult): StoreResult {
  if (theirs.taken !== undefined) return { checks, decisions, taken: theirs.taken }
  const ownOf = (check: PolicyCheck): PolicyCheck => checks[theirs.checks.indexOf(check)] as PolicyCheck
  return { ...theirs, checks, decisions, settle: (actualOf) => theirs.settle((check) => actualOf(ownOf(check))) }
}
