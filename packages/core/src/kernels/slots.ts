import type { Micros } from '../common/time.ts'

/**
 * The slots kernel: how many units of a key are in use at once. Each acquisition holds slots until it releases them, or until
 * `ttl` has passed since it was made or last renewed.
 *
 * The numbers of slots rise, and none is given twice: a release or renewal that comes late names no slot of another holder.
 * A slot that has expired counts no longer. Until an acquisition has cleared it away, its holder can still renew it: there
 * are never more slots than the limit.
 *
 * If the clock has stepped back, a slot is held for `ttl` from now at most: the longest of the slots in the state, as a limiter may
 * count with another `ttl` than the holders of slots.
 *
 * The kernel is written in TypeScript here, in Lua and in SQL, with the same arithmetic. The conformance suite compares their results.
 */
export interface SlotsStep {
  readonly kernel: 'slots'
  /** Slots that the step acquires or, with `id`, renews; negative releases. */
  readonly increment: number
  /** Slots that must be free for the step to be allowed. */
  readonly check: number
  readonly limit: number
  /** How long a slot is held unless it is renewed. */
  readonly ttl: Micros
  /** The first of the slots that are renewed or released; 0 acquires new ones, or releases the latest. */
  readonly id: number
  readonly peek: boolean
}

/** The slots of a key. */
export interface SlotsState {
  /** The highest number of a slot so far. */
  readonly last: number
  /** The longest time for which one of the slots is held, or was. */
  readonly ttl: Micros
  /** The slots that are held, the oldest first: number, end, number, end, … */
  readonly slots: readonly number[]
}

/** The result of a slots step in a store. */
export interface SlotsTaken {
  readonly allowed: boolean
  readonly now: Micros
  /** Slots in use after the step. */
  readonly used: number
  /** The first of the slots that were acquired, renewed or released; 0 if there are none, because they were lost. */
  readonly id: number
}

/** The result of `slots`: the store writes `taken` if the whole batch is allowed, else `kept`. */
export interface SlotsOutcome {
  readonly allowed: boolean
  readonly base: SlotsState
  readonly next: SlotsState
  /** The first slot of the step. */
  readonly id: number
  readonly taken: SlotsState | undefined
  readonly kept: SlotsState | undefined
}

const NEW: SlotsState = { last: 0, ttl: 0, slots: [] }

/** Steps the slots of a key. */
export function slots(state: SlotsState | undefined, now: Micros, step: SlotsStep): SlotsOutcome {
  const { increment, check, limit, ttl, id } = step
  const base = heldFrom(state ?? NEW, now, ttl)
  const used = usedIn(base, now)
  const [first, next] =
    increment < 0 ? release(base, step) : id > 0 ? renew(base, now, step) : acquire(base, now, used, step)
  return {
    allowed: used + check <= limit,
    base,
    next,
    id: first,
    taken: state === undefined && first === 0 ? undefined : next,
    kept: state === undefined ? undefined : base,
  }
}

/** How many slots are in use. */
export function usedIn({ slots }: SlotsState, now: Micros): number {
  let used = 0
  for (let i = 1; i < slots.length; i += 2) if ((slots[i] as number) > now) used++
  return used
}

/** The state with all slots held until the longest `ttl` from now at most. */
function heldFrom(state: SlotsState, now: Micros, stepTtl: Micros): SlotsState {
  const { last, ttl, slots } = state
  const end = now + Math.max(ttl, stepTtl)
  if (slots.every((each, i) => i % 2 === 0 || each <= end)) return state
  return { last, ttl, slots: slots.map((each, i) => (i % 2 === 0 ? each : Math.min(each, end))) }
}

/** What is free is acquired also without a check, and no more. */
function acquire(base: SlotsState, now: Micros, used: number, step: SlotsStep): readonly [number, SlotsState] {
  const count = Math.min(step.increment, Math.max(step.limit - used, 0))
  if (count === 0) return [0, base]
  const first = Math.max(now, base.last + 1)
  const slots: number[] = []
  for (let i = 0; i < base.slots.length; i += 2) {
    if ((base.slots[i + 1] as number) > now) slots.push(base.slots[i] as number, base.slots[i + 1] as number)
  }
  const ttl = slots.length === 0 ? step.ttl : Math.max(base.ttl, step.ttl)
  for (let i = 0; i < count; i++) slots.push(first + i, now + step.ttl)
  return [first, { last: first + count - 1, ttl, slots }]
}

function renew(base: SlotsState, now: Micros, { id, increment, ttl }: SlotsStep): readonly [number, SlotsState] {
  const { last, slots } = base
  const isNamed = (i: number): boolean => (slots[i] as number) >= id && (slots[i] as number) < id + increment
  if (!slots.some((_, i) => i % 2 === 0 && isNamed(i))) return [0, base]
  const renewed = slots.map((each, i) => (i % 2 === 1 && isNamed(i - 1) ? now + ttl : each))
  return [id, { last, ttl: Math.max(base.ttl, ttl), slots: renewed }]
}

/** Releases the slots that are named, or the latest. */
function release(base: SlotsState, { id, increment }: SlotsStep): readonly [number, SlotsState] {
  const { last, ttl, slots } = base
  const from = id > 0 ? id : (slots[Math.max(slots.length + 2 * increment, 0)] ?? 0)
  const to = id > 0 ? id - increment : last + 1
  const left: number[] = []
  for (let i = 0; i < slots.length; i += 2) {
    const each = slots[i] as number
    if (each < from || each >= to) left.push(each, slots[i + 1] as number)
  }
  return left.length === slots.length ? [0, base] : [from, { last, ttl, slots: left }]
}

/** The moment from which on no slot is held. */
export function freeAt({ last, slots }: SlotsState): Micros {
  let at = last
  for (let i = 1; i < slots.length; i += 2) at = Math.max(at, slots[i] as number)
  return at
}
