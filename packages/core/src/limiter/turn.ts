import type { LinkedList, ListItem } from '../common/linked-list.ts'
import { type Micros, monotonicMs } from '../common/time.ts'
import type { Acquisition, PolicyCheck, StoreResult } from '../policies/policy.ts'

/** A turn that this process has reserved. */
export interface Turn {
  readonly acquisition: Acquisition
  readonly units: Units
  /** By the clocks of the stores, which order turns exactly: answers arrive with a delay each. */
  readonly at: Micros
  readonly dueMs: number
}

/** A caller that waits for its turn. */
export interface Caller {
  readonly acquisition: Acquisition
  /** The earlier it has called, the smaller. */
  readonly order: number
  /** Called at its turn; with undefined if it has lost it: it acquires again. */
  readonly serve: (acquisition: Acquisition | undefined) => void
  /** Keeps its place while its key is blocked; undefined if it acquires again at its turn. */
  readonly hold: (() => void) | undefined
}

/** A caller in the queue. */
export interface Member extends Caller {
  /** When the turn of its acquisition comes: its own turn comes then, or before. */
  readonly at: Micros
  /** Leaves without its turn. */
  readonly leave: () => void
}

/**
 * The callers that wait for equal units, in the order of their turns: the first caller has the first turn, even if others have
 * left before. So those of the turns that are left over are the last.
 */
export interface Units {
  readonly name: string
  readonly callers: LinkedList<Member>
  unused: number
}

/** Equal for acquisitions of the same states whose units can be exchanged. */
export const unitsOf = ({ results }: Acquisition): string =>
  JSON.stringify(
    results.map(({ checks, fallback }) => [
      fallback !== undefined,
      checks.map(({ policy, cost }) => [policy.quota, cost]),
    ]),
  )

/** When the turn of an acquisition comes. */
export function turnOf({ results }: Acquisition): Micros {
  const turns = results.map(({ decisions, taken }) => {
    const delay = Math.max(...decisions.map(({ delayMs }) => delayMs))
    return Math.round((taken[0]?.now ?? monotonicMs() * 1000) + delay * 1000)
  })
  return Math.max(...turns)
}

/** A caller's acquisition with the units of another turn, which are of equal checks. */
export function withTurn(acquisition: Acquisition, turn: Acquisition): Acquisition {
  if (turn === acquisition) return acquisition
  const results = acquisition.results.map((own, i) => withUnits(own, turn.results[i] as StoreResult))
  return { ...acquisition, results }
}

function withUnits({ checks, decisions }: StoreResult, theirs: StoreResult): StoreResult {
  const { taken, fallback } = theirs
  if (fallback === undefined) return { checks, decisions, taken }
  const ownOf = (check: PolicyCheck): PolicyCheck => checks[theirs.checks.indexOf(check)] as PolicyCheck
  const settle: typeof fallback.settle = (actualOf) => fallback.settle((check) => actualOf(ownOf(check)))
  return { checks, decisions, taken, fallback: { ...fallback, settle } }
}

/** The acquisitions that have been sent, and whose turns are not known yet. */
export interface Sendings {
  /** How many there are. */
  readonly sent: number
  /** Changes turns once there are none. Until it has, no other is sent. */
  whileLanded<T>(change: () => Promise<T>): Promise<T>
}

/** The last item of a sorted list whose turn comes until then. */
export function lastUntil<T extends { readonly at: Micros }>(
  at: Micros,
  { last }: LinkedList<T>,
): ListItem<T> | undefined {
  let item = last
  while (item && item.value.at > at) item = item.before
  return item
}
