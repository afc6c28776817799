import type { Micros } from '../../common/time.ts'
import type { Taken } from '../../kernels/kernel.ts'
import { unitTime } from '../../kernels/refill.ts'
import { type SlidingWindowStep, type SlidingWindowTaken, startAt } from '../../kernels/sliding-window.ts'
import type { PreparedTake } from '../prepared-take.ts'
import { GENERAL, MOST_COUNT, NONE, type Reused, type Slots, type States, type Windows } from '../states.ts'

/** The sliding-window kernel on stored numbers. The kernel itself decides about counts that are too large, and calendars. */
export function windowTake(states: States, step: SlidingWindowStep, general: PreparedTake): PreparedTake {
  if (step.calendar !== null) return general
  const { slots, windows } = states
  const { increment, ticks, tick } = step
  const window = ticks * tick
  // How long after its start a window expires.
  const span = step.fixed ? window : 2 * window
  const most = step.limit - step.check + 1
  const unit = Math.fround(unitTime(step))
  const taken: Reused<SlidingWindowTaken> = { allowed: false, now: 0, start: 0, current: 0, previous: 0 }
  // `moved` if the clock has stepped back behind the start of the window.
  const found = { slot: NONE, key: '', moved: false }

  const find = (slot: number, now: Micros): void => {
    const start = windows.start(slot)
    const past = now - start
    if (past < window) {
      found.moved = past < 0
      taken.start = past < 0 ? startAt(now, step) : start
      taken.current = windows.current(slot)
      taken.previous = windows.previous(slot)
    } else if (past < span) {
      taken.start = start + window
      taken.current = 0
      taken.previous = windows.current(slot)
    } else begin(now)
  }
  const begin = (now: Micros): void => {
    taken.start = startAt(now, step)
    taken.current = taken.previous = 0
  }
  const fits = (past: Micros, current: number, previous: number): boolean =>
    previous * (ticks - Math.floor(past / tick)) < (most - current) * ticks
  const write = (): void => {
    const { now, start, current, previous } = taken
    if (found.slot < 0) found.slot = states.insert(found.key, Math.abs(unit) * current, now)
    if (current <= MOST_COUNT) states.writeWindow(found.slot, start, current, previous, start + span, unit)
    else states.writeOther(found.slot, { start, current, previous }, start + span, unit)
  }
  const look = (key: string, now: Micros): boolean => {
    const slot = slots.find(key)
    if (slot >= 0 && (slots.moment(slot) >= 0 || states.other(slot) !== undefined)) {
      found.slot = GENERAL
      return general.look(key, now)
    }
    found.slot = slot
    found.moved = false
    if (slot < 0) {
      found.key = key
      begin(now)
    } else find(slot, now)
    taken.now = now
    taken.allowed = fits(now - taken.start, taken.current, taken.previous)
    return taken.allowed
  }
  const commit = (allowed: boolean): Taken => {
    if (found.slot === GENERAL) return general.commit(allowed)
    if (allowed) taken.current += increment
    if (allowed || found.moved) write()
    return taken
  }
  const take = taking(states, slots, windows, window, span, unit, most, increment, fits, taken, look, commit)
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}

/** The most common take: in the window that this step has written, so that only its count changes. */
const taking =
  (
    states: States,
    slots: Slots,
    windows: Windows,
    window: Micros,
    span: Micros,
    unit: Micros,
    most: number,
    increment: number,
    fits: (past: Micros, current: number, previous: number) => boolean,
    taken: Reused<SlidingWindowTaken>,
    look: PreparedTake['look'],
    commit: PreparedTake['commit'],
  ): PreparedTake['take'] =>
  (key, now) => {
    const slot = slots.find(key)
    const start = slot < 0 ? 0 : -slots.moment(slot) - span
    const past = now - start
    if (start <= 0 || past < 0 || past >= window || !states.isWindow(slot, start, unit)) return commit(look(key, now))
    const current = windows.current(slot)
    const previous = windows.previous(slot)
    const allowed = previous === 0 ? current < most : fits(past, current, previous)
    const next = allowed ? current + increment : current
    if (next > MOST_COUNT) return commit(look(key, now))
    if (allowed) windows.setCurrent(slot, next)
    taken.allowed = allowed
    taken.now = now
    taken.start = start
    taken.current = next
    taken.previous = previous
    return taken
  }
