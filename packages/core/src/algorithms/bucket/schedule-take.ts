import type { Micros } from '../../common/time.ts'
import type { BucketTaken } from '../../kernels/bucket-taken.ts'
import type { BucketStep } from '../../kernels/bucket-types.ts'
import type { Taken } from '../../kernels/kernel.ts'
import type { RefillSchedule } from '../../kernels/refill-schedule.ts'
import type { PreparedTake } from '../prepared-take.ts'
import { type Earlies, type Found, GENERAL, isPlain, NONE, type Reused, type Slots, type States } from '../states.ts'

/** The interval of the last take. */
interface Interval {
  start: Micros
  /** The first moment after it. */
  end: Micros
  tick: number
}

/**
 * The bucket kernel on stored numbers, for a bucket that refills at intervals: a tick is a unit. The interval of the last take
 * is kept, because most takes are in the same.
 */
export const scheduleTake = (states: States, step: BucketStep, general: PreparedTake): PreparedTake =>
  step.schedule !== null && isPlain(step) ? takeAtIntervals(states, step, step.schedule, general) : general

function takeAtIntervals(
  states: States,
  step: BucketStep,
  schedule: RefillSchedule,
  general: PreparedTake,
): PreparedTake {
  const { slots, earlies } = states
  const { interval, amount, tick, offset } = schedule
  const { increment, ceiling } = step
  const room = step.tolerance - step.check
  const taken: Reused<BucketTaken> = { allowed: false, now: 0, base: 0, tat: 0 }
  const found: Found = { slot: NONE, key: '' }
  const current: Interval = { start: 0, end: 0, tick: 0 }

  const moveTo = (now: Micros): void => {
    const count = Math.floor((now + offset) / interval)
    current.start = count * interval - offset
    current.end = current.start + interval
    current.tick = count * amount
  }
  // A state is stored one interval late (`fullMoment`): a full bucket's is the end of the interval, or earlier.
  const ticksAhead = (span: Micros): number =>
    span < interval
      ? ticksIn(span, tick, amount)
      : Math.floor(span / interval) * amount + ticksIn(span % interval, tick, amount)
  const spanOf = (ticks: number): Micros =>
    ticks < amount ? ticks * tick : Math.floor(ticks / amount) * interval + (ticks % amount) * tick
  const insert = (moment: Micros): number => states.insert(found.key, moment - taken.now, taken.now)
  const look = (key: string, now: Micros): boolean => {
    if (now >= current.end || now < current.start) moveTo(now)
    const slot = slots.find(key)
    const moment = slot < 0 ? 0 : slots.moment(slot)
    const ahead = moment > current.end ? ticksAhead(moment - current.end) : 0
    if (ahead > ceiling || moment < 0) {
      found.slot = GENERAL
      return general.look(key, now)
    }
    found.slot = slot
    if (slot < 0) found.key = key
    taken.now = now
    taken.base = current.tick + ahead
    taken.allowed = ahead <= room
    return taken.allowed
  }
  const commit = (allowed: boolean): Taken => {
    if (found.slot === GENERAL) return general.commit(allowed)
    taken.tat = taken.base
    if (!allowed) return taken
    const tat = taken.base + increment
    taken.tat = tat
    const moment = current.end + spanOf(tat - current.tick)
    const slot = found.slot < 0 ? insert(moment) : found.slot
    slots.move(slot, moment)
    if (earlies.scale !== 1) earlies.set(slot, 0)
    return taken
  }
  const most = Math.min(ceiling, amount)
  const take = taking(
    slots,
    earlies,
    current,
    moveTo,
    interval,
    amount,
    tick,
    most,
    room,
    increment,
    taken,
    look,
    commit,
  )
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}

/** The ticks in a part of an interval. */
const ticksIn = (span: Micros, each: Micros, amount: number): number =>
  span <= 0 ? 0 : Math.min(Math.ceil(span / each), amount)

/** The time that stands for up to an interval's units in the state. */
const spanFor = (ticks: number, each: Micros, amount: number, interval: Micros): Micros =>
  ticks < amount ? ticks * each : interval

/** The most common take: of a bucket that is full again by the end of the next interval, before and after it. */
const taking =
  (
    slots: Slots,
    earlies: Earlies,
    current: Interval,
    moveTo: (now: Micros) => void,
    interval: Micros,
    amount: number,
    each: Micros,
    most: number,
    room: number,
    increment: number,
    taken: Reused<BucketTaken>,
    look: PreparedTake['look'],
    commit: PreparedTake['commit'],
  ): PreparedTake['take'] =>
  (key, now) => {
    if (now >= current.end || now < current.start) moveTo(now)
    const slot = slots.find(key)
    const moment = slot < 0 ? -1 : slots.moment(slot)
    const { end, tick } = current
    const span = moment - end
    if (moment < 0 || span > interval || earlies.scale !== 1) return commit(look(key, now))
    const ahead = ticksIn(span, each, amount)
    const allowed = ahead <= room
    const next = allowed ? ahead + increment : ahead
    if (ahead > most || next > amount) return commit(look(key, now))
    if (allowed) slots.move(slot, end + spanFor(next, each, amount, interval))
    taken.allowed = allowed
    taken.now = now
    taken.base = tick + ahead
    taken.tat = tick + next
    return taken
  }
