import { DurableObject } from 'cloudflare:workers'
import {
  emptyAt,
  type Micros,
  runKernel,
  type State,
  type StateKey,
  type Take,
  type Taken,
  takenOf,
} from '@spillway/core'
import { States } from './states.ts'

/** How long a state is kept that time has emptied: its key may soon be back, or the clock may step back. */
const GRACE_MS = 60_000
/** How far apart sweeps are at least: each reads all states of the object. */
const BETWEEN_SWEEPS_MS = 600_000

/**
 * The Durable Object that keeps states for `durableObjectStore`. Export it from the Worker, and name it in the
 * configuration among `new_sqlite_classes`.
 *
 * It runs one take at a time, to its end. An alarm clears away what has expired; an object that keeps nothing takes no
 * room.
 */
export class RateLimits extends DurableObject {
  #states: States | undefined
  #alarmed = false

  /** Takes every op or none. */
  take(ops: readonly Take[], at: Micros = Date.now() * 1000): readonly Taken[] {
    const found = ops.map((op) => this.#kept.read(op))
    const outcomes = ops.map(({ step }, i) => runKernel(found[i], at, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    return outcomes.map((outcome, i) => {
      const op = ops[i] as Take
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && state !== found[i] && !op.step.peek) this.#keep(op, state, at)
      return takenOf(outcome, at, op.step, takes && !op.step.peek)
    })
  }

  /** Takes batches one after the other, each all or none, at one moment. */
  takeEach(batches: readonly (readonly Take[])[], at: Micros = Date.now() * 1000): readonly (readonly Taken[])[] {
    return batches.map((ops) => this.take(ops, at))
  }

  /** Deletes states, and returns how many were stored. */
  forget(keys: readonly StateKey[]): number {
    return keys.filter((key) => this.#kept.delete(key)).length
  }

  /** Deletes all states of these policies, and returns how many were stored. */
  deleteAll(policies: readonly string[]): number {
    return policies.reduce((sum, policy) => sum + this.#kept.deleteAll(policy), 0)
  }

  /** Clears away what has expired by `now`, in milliseconds since 1970. */
  async sweep(now: number): Promise<void> {
    const next = this.#kept.sweep(now)
    this.#alarmed = next !== undefined
    if (next === undefined) {
      this.#states = undefined
      // An alarm that is set would wake the object for nothing.
      await this.ctx.storage.deleteAlarm()
      await this.ctx.storage.deleteAll()
    } else {
      await this.ctx.storage.setAlarm(Math.max(next, now + BETWEEN_SWEEPS_MS))
    }
  }

  /** Called by the runtime when something has expired. */
  alarm(): Promise<void> {
    return this.sweep(Date.now())
  }

  get #kept(): States {
    this.#states ??= new States(this.ctx.storage.sql)
    return this.#states
  }

  #keep(op: Take, state: State, at: Micros): void {
    // Counted from now, whatever clock the take was told to go by.
    const expires = Date.now() + Math.ceil((emptyAt(state, op.step) - at) / 1000) + GRACE_MS
    this.#kept.write(op, state, expires)
    if (this.#alarmed) return
    this.#alarmed = true
    // Nothing that is written leaves the object before it is safe: there is nothing to wait for here.
    void this.ctx.storage.setAlarm(expires)
  }
}
