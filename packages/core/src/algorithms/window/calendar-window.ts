import { formatValue, QuotaError } from '../../common/errors.ts'
import { checkOptions } from '../../common/guess.ts'
import { checkWhole } from '../../common/options.ts'
import type { Micros } from '../../common/time.ts'
import { Periods } from '../../kernels/calendar.ts'
import type { Starts } from '../../kernels/sliding-window.ts'
import { register } from '../algorithm.ts'
import type { CalendarUnit, CalendarWindowOptions, PeriodOptions } from '../quota-options.ts'
import type { SlidingWindowQuota, ZonedPeriods } from '../quota-types.ts'
import { checkZone, TimeZone } from './time-zone.ts'
import { windowAlgorithm } from './window-algorithm.ts'

const fixed = register('sliding-window', windowAlgorithm)

const DAY_MS = 86_400_000

/** The days of the longest period of a unit, apart from hours that clocks are put back. */
const DAYS: Readonly<Record<CalendarUnit, number>> = { day: 1, week: 7, month: 31 }

/**
 * Returns a quota of `limit` units in each month of the calendar: a {@link calendarWindow} from the first of a month, or
 * another `firstDay`, to the next. Throws a `QuotaError` if an option is invalid.
 */
export function perMonth(limit: number, options: PeriodOptions = {}): SlidingWindowQuota {
  checkOptions('perMonth', options, ['timeZone', 'firstDay'])
  return build('perMonth', { ...options, limit, unit: 'month' })
}

/**
 * Returns a quota of `limit` units in each month, week or day of the calendar in a time zone, such as a billing period. All
 * units refill at midnight of that zone: a day has 23 or 25 hours if clocks are changed. Around that moment,
 * over-admission is up to twice the limit. Throws a `QuotaError` if an option is invalid.
 */
export function calendarWindow(options: CalendarWindowOptions): SlidingWindowQuota {
  checkOptions('calendarWindow', options, ['limit', 'unit', 'timeZone', 'firstDay'])
  return build('calendarWindow', options)
}

function build(what: string, { limit, unit, timeZone = 'UTC', firstDay }: CalendarWindowOptions): SlidingWindowQuota {
  checkWhole(`${what} limit`, limit, 0)
  const days = typeof unit === 'string' && Object.hasOwn(DAYS, unit) ? DAYS[unit] : undefined
  if (days === undefined) throw invalid(what, `unit must be 'month', 'week' or 'day'; got ${formatValue(unit)}.`)
  checkFirstDay(what, unit, firstDay)
  const window = days * DAY_MS * 1000
  const calendar = calendarOf(what, unit, timeZone, firstDay ?? 1)
  return fixed(
    Object.freeze({ kernel: 'sliding-window', limit, window, tick: window, fixed: true, calendar, offset: null }),
  )
}

function checkFirstDay(what: string, unit: CalendarUnit, firstDay: unknown): void {
  if (firstDay === undefined) return
  if (unit === 'day') throw invalid(what, `firstDay is for months and weeks; got unit ${formatValue(unit)}.`)
  const [most, range] = unit === 'week' ? [7, '1, Monday, to 7, Sunday'] : [31, '1 to 31, a day of the month']
  if (Number.isInteger(firstDay) && (firstDay as number) >= 1 && (firstDay as number) <= most) return
  throw invalid(what, `firstDay must be ${range}; got ${formatValue(firstDay)}.`)
}

const invalid = (what: string, problem: string): QuotaError =>
  new QuotaError('ERR_SPILLWAY_QUOTA', `${what} ${problem}`)

/** The most calendars that quotas share: those of the zones that an application uses. */
const MOST_CALENDARS = 1_000

const calendars = new Map<string, ZonedCalendar>()

/** The calendar of a zone. Quotas of one zone share it, so that its format and its last periods are made once. */
function calendarOf(what: string, unit: CalendarUnit, timeZone: unknown, firstDay: number): ZonedCalendar {
  const zone = checkZone(timeZone, what)
  const name = `${unit} ${firstDay} ${zone}`
  const known = calendars.get(name)
  if (known !== undefined) return known
  const made = new ZonedCalendar(new TimeZone(zone, what), unit, zone, firstDay)
  if (calendars.size >= MOST_CALENDARS) calendars.clear()
  calendars.set(name, made)
  return made
}

/** Months, weeks or days in a time zone. */
class ZonedCalendar extends Periods implements ZonedPeriods {
  readonly unit: CalendarUnit
  readonly timeZone: string
  readonly firstDay: number
  readonly #zone: TimeZone
  /** The starts that were computed last, of the latest use first: the clocks of caller and store may be in two periods. */
  #known: readonly Starts[] = []

  constructor(zone: TimeZone, unit: CalendarUnit, timeZone: string, firstDay: number) {
    super()
    this.#zone = zone
    this.unit = unit
    this.timeZone = timeZone
    this.firstDay = firstDay
  }

  startsAround(now: Micros): Starts {
    const [latest, other] = this.#known
    if (latest !== undefined && isAt(latest, now)) return latest
    const starts = other !== undefined && isAt(other, now) ? other : this.#startsAt(now)
    this.#known = latest === undefined ? [starts] : [starts, latest]
    return starts
  }

  #startsAt(now: Micros): Starts {
    const local = new Date(this.#zone.localAt(Math.floor(now / 1000)))
    const starts: Micros[] = []
    // More on each side: clocks may be put back over midnight, a zone may leave out a day, and of the local month the first
    // day may be yet to come.
    for (let i = -3; i <= 4; i++) {
      const start = Math.max(this.#zone.startOfDay(this.#midnight(local, i)) * 1000, 0)
      if (start !== starts.at(-1)) starts.push(start)
    }
    const at = starts.findLastIndex((start) => start <= now)
    return Object.freeze(starts.slice(Math.max(at - 1, 0), at + 3))
  }

  /** The local midnight at which the period `i` periods after that of a local time begins. */
  #midnight(local: Date, i: number): number {
    const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
    if (this.unit === 'month') {
      const lastDay = new Date(Date.UTC(year, month + i + 1, 0)).getUTCDate()
      return Date.UTC(year, month + i, Math.min(this.firstDay, lastDay))
    }
    if (this.unit === 'day') return Date.UTC(year, month, day + i)
    return Date.UTC(year, month, day - ((local.getUTCDay() + 7 - this.firstDay) % 7) + 7 * i)
  }
}

/** Whether starts are those around a time. */
const isAt = (starts: Starts, now: Micros): boolean => (starts[1] as Micros) <= now && now < (starts[2] as Micros)
