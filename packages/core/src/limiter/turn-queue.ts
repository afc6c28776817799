import { rollback } from '../checks/correct.ts'
import { LinkedList } from '../common/linked-list.ts'
import { setLongTimeout } from '../common/long-timeout.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { Acquisition, PolicyCheck, StoreResult } from '../policies/policy.ts'

/** A turn that this process has reserved. */
interface Turn {
  readonly acquisition: Acquisition
  /** By the clocks of the stores, which order turns exactly: answers arrive with a delay each. */
  readonly at: Micros
  readonly dueMs: number
}

interface Caller {
  readonly acquisition: Acquisition
  readonly serve: (acquisition: Acquisition) => void
}

/** What a timer cannot tell apart. */
const TIMER_MICROS: Micros = 1_000

/**
 * The callers in this process that wait for equal units of the same states, and as many turns, both in their order: the first
 * caller has the first turn, whichever of the two has left or been refunded before. There is one timer, of the first turn.
 */
export class TurnQueue {
  readonly #callers = new LinkedList<Caller>()
  readonly #turns = new LinkedList<Turn>()
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
   * be refunded, because later turns depend on it. So those behind move up by one turn each, and the last turn is refunded.
   */
  join(acquisition: Acquisition, serve: Caller['serve']): () => Promise<void> {
    const last = this.#turns.last?.value
    const at = Math.max(turnOf(acquisition), last?.at ?? 0)
    const dueMs = Math.max(monotonicMs() + acquisition.decision.delayMs, last?.dueMs ?? 0)
    let isWaiting = true
    const caller = this.#callers.add({
      acquisition,
      serve: (served) => {
        isWaiting = false
        serve(served)
      },
    })
    this.#turns.add({ acquisition, at, dueMs })
    if (last === undefined) this.#startTimer()
    return async () => {
      if (!isWaiting) return
      isWaiting = false
      this.#callers.remove(caller)
      const unused = this.#turns.last
      if (unused === undefined) return
      this.#turns.remove(unused)
      if (this.#turns.first === undefined) this.#end()
      await rollback(unused.value.acquisition)
    }
  }

  #startTimer(): void {
    const dueMs = this.#turns.first?.value.dueMs ?? 0
    this.#stopTimer = setLongTimeout(Math.max(dueMs - monotonicMs(), 0), () => this.#serveUntil(dueMs))
  }

  #serveUntil(dueMs: number): void {
    // A timer may fire a moment early.
    const nowMs = Math.max(monotonicMs(), dueMs)
    let [turn, caller] = [this.#turns.first, this.#callers.first]
    while (turn && caller && turn.value.dueMs <= nowMs) {
      this.#turns.remove(turn)
      this.#callers.remove(caller)
      caller.value.serve(withTurn(caller.value.acquisition, turn.value.acquisition))
      ;[turn, caller] = [this.#turns.first, this.#callers.first]
    }
    if (turn) this.#startTimer()
    else this.#end()
  }

  #end(): void {
    this.#stopTimer()
    this.#onEmpty()
  }
}

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
