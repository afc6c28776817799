import type { Micros } from '../../common/time.ts'
import type { Taken } from '../../kernels/kernel.ts'
import { unitTime } from '../../kernels/refill.ts'
import type { SlidingLogStep, SlidingLogTaken } from '../../kernels/sliding-log.ts'
import type { PreparedTake } from '../prepared-take.ts'
import { GENERAL, NONE, type Reused, type States } from '../states.ts'
import { append, FIRST, HEAD, type Log, leavingAt, newLog, UNITS } from '../stored-log.ts'

/** The sliding-log kernel on a log in place. The kernel itself decides if the clock has stepped back. */
export function logTake(states: States, step: SlidingLogStep, general: PreparedTake): PreparedTake {
  const { increment, check, limit, window } = step
  const unit = Math.fround(unitTime(step))
  const taken: Reused<SlidingLogTaken> = { allowed: false, now: 0, used: 0, fitsAt: 0, freesAt: 0, emptyAt: 0 }
  // `first` is the index of the first entry that has not expired.
  const found = { slot: NONE, key: '', log: EMPTY, first: 0 }

  const write = (now: Micros, used: number): void => {
    if (found.log === EMPTY) {
      found.log = newLog(now, increment)
      if (found.slot < 0) found.slot = states.insert(found.key, unit * increment, now)
    } else append(found.log, found.first, used, now, increment)
    found.first = found.log[FIRST] as number
    states.writeOther(found.slot, found.log, now + window, unit)
  }
  /** When `units` have left the log; now if they never do. */
  const fitsAfter = (units: number, now: Micros): Micros => {
    const at = leavingAt(found.log, found.first, units)
    return at === undefined ? now : at + window
  }
  const look = (key: string, now: Micros): boolean => {
    const slot = states.slots.find(key)
    const log = slot < 0 ? EMPTY : states.other(slot)
    if (!Array.isArray(log) || (log.length > EMPTY.length && (log[log.length - 2] as number) > now)) {
      found.slot = GENERAL
      return general.look(key, now)
    }
    let first = log[FIRST] as number
    let used = log[UNITS] as number
    // Expired entries stay until a take is allowed: the clock may step back.
    for (; first < log.length && (log[first] as number) + window <= now; first += 2) used -= log[first + 1] as number
    found.slot = slot
    found.log = log
    found.first = first
    if (slot < 0) found.key = key
    taken.now = now
    taken.used = used
    taken.allowed = used + check <= limit
    return taken.allowed
  }
  const commit = (allowed: boolean): Taken => {
    if (found.slot === GENERAL) return general.commit(allowed)
    const { now, used } = taken
    taken.fitsAt = taken.allowed ? now : fitsAfter(used + check - limit, now)
    if (allowed) {
      taken.used = used + increment
      write(now, used)
    }
    taken.freesAt = fitsAfter(Math.max(taken.used - limit, 0) + 1, now)
    taken.emptyAt = taken.used === 0 ? now : (found.log[found.log.length - 2] as number) + window
    return taken
  }
  const take = (key: string, now: Micros): Taken => commit(look(key, now))
  const consumer: PreparedTake['consumer'] = (clock, decide, other) => (key, cost) =>
    (cost === undefined || cost === 1) && typeof key === 'string' && key !== ''
      ? decide(take(key, clock()))
      : other(key, cost)
  return { look, commit, take, consumer }
}

/** The log of a key without one. */
const EMPTY: Log = [HEAD, 0]
