import type { Micros } from '../common/time.ts'
import type { BucketState, FractionalBucket, RefundedBucket } from './bucket-state.ts'
import type { BucketOutcome, BucketStep } from './bucket-types.ts'
import { type Exact, earliest, exactly, isBefore, isSame, latest, NOTHING, WHOLE } from './fraction.ts'
import { fullMoment, fullTick, microsOf, type RefillSchedule, tickOf, turnTick } from './refill-schedule.ts'
import { startedState } from './start.ts'

/** The most that `gross` is ahead of `tat`, in microseconds (about 31 years): sums stay exact. */
export const MOST_RETURNED: Micros = 1e15

/** The largest clock step back, in microseconds (1 hour), after which takes from before are still refunded. */
export const LONGEST_STEP: Micros = 3_600e6

/**
 * Steps a bucket.
 *
 * A stored `tat` farther ahead than `ceiling` can only come from a clock that has since stepped back. It is set
 * to the ceiling, an empty bucket: the clock step adds no units, and denies for no longer than the bucket takes to fill.
 * Debts and reservations may reach farther: those are stored with a minus sign and not changed.
 */
export function bucket(stored: BucketState | undefined, now: Micros, step: BucketStep): BucketOutcome {
  const state = startedState(stored, now, step)
  const nowTick = tickOf(now, step.schedule)
  const due = step.maxWaitMicros === 0 ? nowTick : tickOf(now + step.maxWaitMicros, step.schedule)
  const found = foundIn(state, nowTick, step)
  const { base } = found
  const next = step.increment < 0 ? refund(found, nowTick, step) : take(found, step)
  return {
    allowed: fitsAt(base, step) <= due,
    base: base.tick,
    next: next.base.tick,
    grossNext: next.gross.tick,
    early: { base: base.early, tat: next.base.early, gross: next.gross.early },
    taken: state === undefined && next.base.tick === nowTick ? undefined : stateAt(next, nowTick, step),
    kept: found.withinCeiling ? state : stateAt(found, nowTick, step),
  }
}

/** The first tick at which a step fits a bucket that is full again at `base`. */
export function fitsAt(base: Exact, { check, tolerance, fraction }: BucketStep): number {
  const parts = fraction ?? WHOLE
  return exactly(base.tick + check - tolerance, base.early + parts.check - parts.tolerance, parts.scale).tick
}

/** A state in ticks; `base` is `tat`, never in the past. */
interface Ticks {
  readonly base: Exact
  readonly gross: Exact
  readonly turn: number
  /** False if `tat` was farther ahead than the ceiling, and has been set to it. */
  readonly withinCeiling: boolean
}

function foundIn(state: BucketState | undefined, nowTick: number, step: BucketStep): Ticks {
  const { schedule, ceiling } = step
  const now = { tick: nowTick, early: 0 }
  if (state === undefined) return { base: now, gross: now, turn: 0, withinCeiling: true }
  const whole = typeof state === 'number' ? { tat: state, gross: Math.abs(state), turn: 0 } : state
  const { early, grossEarly } = earliesOf(whole, step)
  const tat = fullTick(Math.abs(whole.tat), schedule)
  const withinCeiling = whole.tat < 0 || tat - nowTick <= ceiling
  const base = latest(withinCeiling ? { tick: tat, early } : { tick: nowTick + ceiling, early: 0 }, now)
  const gross = latest({ tick: fullTick(whole.gross, schedule), early: grossEarly }, base)
  if (withinCeiling) return { base, gross, turn: turnTick(whole.turn, schedule), withinCeiling }
  // Setting `tat` to the ceiling moves takes down by unknown amounts. After a long step, refunds of them return nothing.
  const known = (gross.tick - base.tick) * microsOf(schedule) <= LONGEST_STEP
  return { base, gross: known ? gross : base, turn: known ? gross.tick : 0, withinCeiling }
}

const NO_EARLIES = { early: 0, grossEarly: 0 }

const earliesOf = (
  state: RefundedBucket | FractionalBucket,
  { fraction }: BucketStep,
): Pick<FractionalBucket, 'early' | 'grossEarly'> =>
  'scale' in state && state.scale === fraction?.scale ? state : NO_EARLIES

function take({ base, gross, turn }: Ticks, step: BucketStep): Ticks {
  const next = plus(base, step)
  return { base: next, gross: atMost(plus(gross, step), next, step.schedule), turn, withinCeiling: true }
}

const plus = ({ tick, early }: Exact, { increment, fraction }: BucketStep): Exact =>
  exactly(tick + increment, early + (fraction ?? WHOLE).increment, (fraction ?? WHOLE).scale)

function refund({ base, gross, turn }: Ticks, nowTick: number, step: BucketStep): Ticks {
  const { scale, burst, until } = step.fraction ?? WHOLE
  const last = isSame({ tick: step.until, early: until }, gross)
  const newest = Math.max(turn, exactly(base.tick - step.burst, base.early - burst, scale).tick)
  const returned = returnedBy(step, last, nowTick, base, gross, newest)
  const next = exactly(base.tick - returned.tick, base.early - returned.early, scale)
  const less = last ? exactly(gross.tick - returned.tick, gross.early - returned.early, scale) : gross
  const keepsTurn = returned.tick === 0 || (last && step.whole)
  return { base: next, gross: atMost(less, next, step.schedule), turn: keepsTurn ? turn : newest, withinCeiling: true }
}

/** The ticks a refund returns; 0 if the state has not taken as much as the take had, as after a reset. */
function returnedBy(step: BucketStep, last: boolean, nowTick: number, base: Exact, gross: Exact, turn: number): Exact {
  const { scale, increment, until } = step.fraction ?? WHOLE
  const refunded = { tick: -step.increment, early: 0 - increment }
  if (last || step.until === Number.MAX_SAFE_INTEGER)
    return earliest(refunded, { tick: base.tick - nowTick, early: base.early })
  const taken = { tick: step.until, early: until }
  if (isBefore(gross, taken)) return NOTHING
  const end = exactly(taken.tick - (gross.tick - base.tick), until - gross.early + base.early, scale)
  const { tick, early } = latest(end, earliest({ tick: step.ends, early: 0 }, base))
  const room = { tick: tick - Math.max(nowTick, turn), early }
  return room.tick > 0 ? earliest(refunded, room) : NOTHING
}

function atMost(gross: Exact, tat: Exact, schedule: RefillSchedule | null): Exact {
  const most = tat.tick + Math.floor(MOST_RETURNED / microsOf(schedule))
  return gross.tick <= most ? gross : { tick: most, early: 0 }
}

/** The state of a bucket that is full again at `full`, without refunds; undefined if that is now. */
export function bucketState(now: Micros, full: Exact, step: BucketStep): BucketState | undefined {
  const nowTick = tickOf(now, step.schedule)
  return full.tick === nowTick
    ? undefined
    : stateAt({ base: full, gross: full, turn: 0, withinCeiling: true }, nowTick, step)
}

function stateAt(
  { base, gross, turn }: Ticks,
  nowTick: number,
  { schedule, ceiling, fraction }: BucketStep,
): BucketState {
  const moment = fullMoment(base.tick, schedule)
  const tat = base.tick - nowTick > ceiling ? -moment : moment
  const ahead = turn > nowTick
  const isWhole = base.early === 0 && gross.early === 0
  if (isWhole && gross.tick === base.tick && !ahead) return tat
  const [grossMoment, turnMoment] = [fullMoment(gross.tick, schedule), ahead ? fullMoment(turn, schedule) : 0]
  if (isWhole) return { tat, gross: grossMoment, turn: turnMoment }
  const { scale } = fraction ?? WHOLE
  return { tat, gross: grossMoment, turn: turnMoment, scale, early: base.early, grossEarly: gross.early }
}
