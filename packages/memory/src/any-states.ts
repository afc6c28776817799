import type { FractionalBucket, Micros, State, Step } from '@spillway/core'
import { emptyAt, FIRST, logOf, MOST_COUNT, refillTime, stateOf, unitsInLog, unitTime } from '@spillway/core/internal'
import type { Earlies } from './earlies.ts'
import { type Other, Others } from './others.ts'
import { Pages } from './pages.ts'
import { PolicyStates } from './policy-states.ts'
import type { ListedSlots, StoredKey } from './slots.ts'
import { Windows } from './windows.ts'

/**
 * The states of one policy, of any algorithm. The timestamp of a state that is not a bucket's number is its expiry with a minus
 * sign: windows are three numbers in an array, logs are lists that are changed in place, and the others are objects.
 */
export class AnyStates extends PolicyStates<ListedSlots> {
  /** The windows of the slots with a negative timestamp that have no other state. */
  readonly windows: Windows = new Windows()
  /** Undefined until there is one: engines make slow code for an index beyond the end of a list. */
  #others: Others | undefined
  /** The time per unit of each state that is no bucket. It is only compared with others, so that it may be rounded. */
  readonly #units = new Pages((length) => new Float32Array(length))

  /** The state of a slot that is neither a number nor a window. */
  other(slot: number): Other | undefined {
    return this.#others === undefined ? undefined : this.#others.get(slot)
  }

  /**
   * Reports whether a slot that has no bucket has the window of this start, and of this time per unit; false, too, if the policy
   * has had other states. Small, so that engines inline the take of a window into its caller.
   */
  isWindow(slot: number, start: Micros, unit: Micros): boolean {
    return this.#others === undefined && this.windows.start(slot) === start && this.#units.get(slot) === unit
  }

  state(slot: number): State | undefined {
    if (slot < 0) return undefined
    const moment = this.slots.moment(slot)
    if (moment >= 0) return bucketOf(this.earlies, slot, moment)
    const other = this.other(slot)
    if (other === undefined) return this.windows.stateOf(slot)
    return Array.isArray(other) ? stateOf(other) : other
  }

  /** Writes the state of a key by `step`. */
  put(key: string, state: State, step: Step, now: Micros): void {
    const at = emptyAt(state, step)
    const unit = Math.fround(unitTime(step))
    const known = this.find(key)
    const slot = known < 0 ? this.insert(key, refillTime(state, at, unit, now), now) : known
    if (typeof state === 'number') {
      if (state >= 0) this.#writeBucket(slot, state, 0)
      else this.writeOther(slot, { tat: state, gross: -state, turn: 0 }, at, unit)
    } else if (holds(this.earlies, state)) this.#writeBucket(slot, state.tat, state.early)
    else if ('start' in state && state.current <= MOST_COUNT && state.previous <= MOST_COUNT) {
      this.writeWindow(slot, state.start, state.current, state.previous, at, unit)
    } else this.writeOther(slot, Array.isArray(state) ? logOf(state) : (state as Other), at, unit)
    if (step.kernel === 'bucket' && step.start !== null) this.keep = Math.max(this.keep, step.start.keep)
  }

  writeWindow(slot: number, start: Micros, current: number, previous: number, at: Micros, unit: Micros): void {
    this.windows.set(slot, start, current, previous)
    this.#expire(slot, at, unit)
    this.#others?.delete(slot)
  }

  writeOther(slot: number, state: Other, at: Micros, unit: Micros): void {
    this.#others ??= new Others()
    this.#others.set(slot, state)
    this.#expire(slot, at, unit)
  }

  protected override free(slot: number): void {
    super.free(slot)
    this.#others?.delete(slot)
  }

  /** Deletes all states, and returns how many there were. The slots are kept: prepared takes refer to them. */
  clear(): number {
    const before = this.size
    for (let slot = 0; slot < this.length; slot++) if (this.slots.isTaken(slot)) this.free(slot)
    return before
  }

  /** The stored keys with their states, in chunks of up to `most` slots. */
  *chunks(most: number): Generator<readonly (StoredKey & { readonly state: State })[]> {
    for (let first = 0; first < this.length; first += most) {
      const found: (StoredKey & { readonly state: State })[] = []
      for (let slot = first; slot < Math.min(first + most, this.length); slot++) {
        const state = this.slots.isTaken(slot) ? this.state(slot) : undefined
        if (state !== undefined) found.push({ ...this.slots.keyOf(slot), state })
      }
      yield found
    }
  }

  protected override refillTime(slot: number, now: Micros): Micros {
    const moment = this.slots.moment(slot)
    if (moment >= 0) return moment - now
    const unit = this.#units.get(slot)
    const other = this.other(slot) ?? this.windows.stateOf(slot)
    if (Array.isArray(other)) return unit * unitsInLog(other, other[FIRST] as number, -moment, now)
    return refillTime(other, -moment, unit, now)
  }

  /** A bucket without a debt: `tat` is no less than 0. */
  #writeBucket(slot: number, tat: number, early: number): void {
    this.slots.move(slot, tat)
    this.earlies.set(slot, early)
    this.#others?.delete(slot)
  }

  /** Notes when a state that is no bucket expires. */
  #expire(slot: number, at: Micros, unit: Micros): void {
    // An empty log expires at 0, and must be negative, too.
    this.slots.move(slot, Math.min(-at, -1))
    this.#units.set(slot, unit)
  }
}

/** The state of a bucket that is full again at `moment`, or earlier by the stored parts. */
function bucketOf(earlies: Earlies, slot: number, moment: number): number | FractionalBucket {
  const early = earlies.get(slot)
  if (early === 0) return moment
  return { tat: moment, gross: Math.abs(moment), turn: 0, scale: earlies.scale, early, grossEarly: early }
}

/** Reports whether a timestamp and its parts represent a state completely. */
function holds(earlies: Earlies, state: State): state is FractionalBucket {
  if (typeof state !== 'object' || !('grossEarly' in state)) return false
  const { tat, gross, turn, early, grossEarly, scale } = state
  return gross === tat && turn === 0 && early === grossEarly && earlies.adopt(scale)
}
