import * as workers from 'cloudflare:workers'
import { DurableObject } from 'cloudflare:workers'
import type { Micros, State, StateKey, Take, Taken } from '@spillway/core'
import { KERNELS, receivedStep } from '@spillway/core/internal'
import { lifetime } from './lifetime.ts'
import type { SentTake } from './sent.ts'
import { States } from './states.ts'

// Not imported by its name, which older runtimes do not have.
lifetime().waitUntil = workers.waitUntil

/** How long an expired state is kept: its key may be used again soon, or the clock may step back. */
const GRACE_MS = 60_000
/** The minimum time between sweeps of an object with states: each reads all of them. */
const BETWEEN_SWEEPS_MS = 600_000

/**
 * The Durable Object that holds states for `durableObjectStore`. Export it from the Worker, and list it in the
 * configuration under `new_sqlite_classes`.
 *
 * It runs one take at a time. An alarm sweeps expired states. An object without states uses no storage.
 */
export class RateLimits extends DurableObject {
  #states: States | undefined
  /** The time of the pending alarm, in milliseconds since 1970; Infinity if there is none. */
  #alarm = Infinity
  /** The earliest expiry of what the present call has written. */
  #earliest = Infinity

  constructor(...args: ConstructorParameters<typeof DurableObject>) {
    super(...args)
    // An earlier instance of this object may have set an alarm. Without its table, the object has none.
    if (this.#kept.tableIsThere) void this.ctx.blockConcurrencyWhile(() => this.#readAlarm())
  }

  /** Takes all ops or none. `at` is in microseconds since 1970. */
  take(sent: readonly SentTake[], at: Micros = Date.now() * 1000): readonly Taken[] {
    return this.#atomically(() => this.#take(sent, at))
  }

  /** Takes batches in order, each all-or-nothing, all at the same time. If a write fails, none is taken. */
  takeEach(batches: readonly (readonly SentTake[])[], at: Micros = Date.now() * 1000): readonly (readonly Taken[])[] {
    return this.#atomically(() => batches.map((ops) => this.#take(ops, at)))
  }

  #take(sent: readonly SentTake[], at: Micros): readonly Taken[] {
    const ops = sent.map((op) => ({ ...op, step: receivedStep(op.step) }))
    const found = ops.map((op) => this.#kept.read(op))
    const outcomes = ops.map(({ step }, i) => KERNELS[step.kernel].run(found[i], at, step))
    const takes = outcomes.every(({ allowed }) => allowed)
    return outcomes.map((outcome, i) => {
      const op = ops[i] as Take
      const { step } = op
      const state = takes ? outcome.taken : outcome.kept
      if (state !== undefined && state !== found[i] && !step.peek) this.#keep(op, state, at)
      return KERNELS[step.kernel].takenOf(outcome, at, step, takes && !step.peek)
    })
  }

  /** Deletes states, and returns how many were stored. */
  forget(keys: readonly StateKey[]): number {
    return keys.filter((key) => this.#kept.delete(key)).length
  }

  /** Deletes all states of these policies, and returns how many were stored. */
  deleteAll(policies: readonly string[]): number {
    return policies.reduce((sum, policy) => sum + this.#kept.deleteAll(policy), 0)
  }

  /** Deletes the states that have expired by `now`, in milliseconds since 1970. */
  async sweep(now: number): Promise<void> {
    const next = this.#kept.sweep(now)
    this.#alarm = next === undefined ? Infinity : Math.max(next, now + BETWEEN_SWEEPS_MS)
    if (next === undefined) {
      this.#states = undefined
      // A pending alarm would wake the object without need.
      await this.ctx.storage.deleteAlarm()
      await this.ctx.storage.deleteAll()
    } else {
      await this.ctx.storage.setAlarm(this.#alarm)
    }
  }

  /** Sweeps. The runtime calls it when a state has expired. */
  alarm(): Promise<void> {
    return this.sweep(Date.now())
  }

  get #kept(): States {
    this.#states ??= new States(this.ctx.storage.sql)
    return this.#states
  }

  /** Writes all of a call or nothing: a call that is reported as failed must have charged nothing. */
  #atomically<T>(work: () => T): T {
    this.#earliest = Infinity
    try {
      const result = this.ctx.storage.transactionSync(work)
      if (this.#earliest < Infinity) this.#alarmBy(this.#earliest)
      return result
    } catch (error) {
      // The table may have been created in what is rolled back.
      this.#states = undefined
      throw error
    }
  }

  #keep(op: Take, state: State, at: Micros): void {
    // The alarm uses the real clock, even if the take has a time of its own.
    const expires = Date.now() + Math.ceil((KERNELS[op.step.kernel].emptyAt(state, op.step) - at) / 1000) + GRACE_MS
    this.#kept.write(op, state, expires)
    this.#earliest = Math.min(this.#earliest, expires)
  }

  /** Sets the alarm for the expiry of a state, unless one is pending that is early enough. */
  #alarmBy(expires: number): void {
    // Moving a pending alarm to less than ten minutes from now would sweep too often.
    const due = this.#alarm === Infinity ? expires : Math.max(expires, Date.now() + BETWEEN_SWEEPS_MS)
    if (due >= this.#alarm) return
    this.#alarm = due
    // The runtime holds responses back until writes are durable: no need to await.
    void this.ctx.storage.setAlarm(due)
  }

  async #readAlarm(): Promise<void> {
    this.#alarm = (await this.ctx.storage.getAlarm()) ?? Infinity
  }
}
